// Asks the store what waits in it, for scrapes: on a thread of its own, so that a database that is
// away or slow holds up no scrape; and never more often than is good for the database.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "seam/backend.h"

namespace pawl::metrics {

class StoreSampler {
public:
    StoreSampler(
        std::shared_ptr<seam::Backend> backend, std::vector<std::string> queues, Duration refresh
    );
    StoreSampler(const StoreSampler&) = delete;
    StoreSampler& operator=(const StoreSampler&) = delete;
    ~StoreSampler() = default;

    // What was found last, after another look where that is due. None: the last look failed, or
    // there has been no answer for long.
    [[nodiscard]] std::optional<seam::Backlog> sample();

private:
    using Clock = std::chrono::steady_clock;

    void work(const std::stop_token& stop);
    void look();
    [[nodiscard]] bool is_due(Clock::time_point now) const;

    const std::shared_ptr<seam::Backend> backend_;
    const std::vector<std::string> queues_;
    const Duration refresh_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool wanted_ = false;
    std::optional<seam::Backlog> last_;
    std::optional<Clock::time_point> looked_at_;  // when the last look ended,
    Clock::duration took_{};                      // and how long it took
    std::jthread thread_;
};

}  // namespace pawl::metrics
