// Logs an outage of the database once, however many services notice it: a line when it begins, one
// every 30 seconds, and one when it has ended.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>

#include "base/log.h"

namespace pawl::base {

class Outage {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr Duration repeat_every = 30s;

    explicit Outage(base::Log log) : log_(std::move(log)) {}

    // When a service last failed to reach the database. Failed wake-ups do not count.
    [[nodiscard]] Clock::time_point last_failure() const { return last_failure_; }

    // One service's view of the database. Used by one thread at a time. The outage ends when every
    // service that has failed has succeeded again.
    class Reporter {
    public:
        // Wake-ups are no proof that calls succeed or fail: they end only an outage that they have
        // noticed themselves.
        enum class Of { calls, wake_ups };

        explicit Reporter(Outage& outage, Of of = Of::calls) : outage_(outage), of_(of) {}
        ~Reporter();
        Reporter(const Reporter&) = delete;
        Reporter& operator=(const Reporter&) = delete;

        // Returns true if the error is part of an outage, which is then logged. If false, the
        // caller logs the error.
        [[nodiscard]] bool failed(
            const std::exception& error, Clock::time_point now = Clock::now()
        );
        void succeeded(Clock::time_point now = {});  // a no-op unless an outage is going

    private:
        Outage& outage_;
        const Of of_;
        bool failing_ = false;
    };

private:
    void note_failure(bool first, std::string_view error, Clock::time_point now);
    void note_success(bool had_failed, Clock::time_point now);

    const base::Log log_;
    std::mutex mutex_;
    int failing_ = 0;  // reporters that fail at present
    std::optional<Clock::time_point> began_;
    Clock::time_point logged_{};
    std::atomic<bool> away_ = false;  // began_ is set
    std::atomic<Clock::time_point> last_failure_{};
};

}  // namespace pawl::base
