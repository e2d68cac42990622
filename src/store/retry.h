// Keeps a call going while the database is away, up to ConnectOptions::retry_timeout. A write whose
// answer was lost is never repeated blindly: that is the caller's to decide.
#pragma once

#include <chrono>
#include <exception>

#include "store/backend.h"

namespace pawl::store {

class Retry {
public:
    explicit Retry(Backend& backend);
    ~Retry();
    Retry(const Retry&) = delete;
    Retry& operator=(const Retry&) = delete;
    // Waits and returns true where the same call may be made again; false: throw it on.
    [[nodiscard]] bool again(const Error& error);
    // The waiting alone, for those who know that repeating is safe. False at the deadline.
    [[nodiscard]] bool wait(const Error& error);
    [[nodiscard]] bool wait(std::string_view why);  // why the database refused it for now

private:
    [[nodiscard]] bool pause();

    Backend& backend_;
    Outage::Reporter outage_;
    const int uncaught_ = std::uncaught_exceptions();
    std::chrono::steady_clock::time_point deadline_;
    Duration pause_{0};
};

template <class Call>
auto retrying(Backend& backend, Call call) {
    Retry retry(backend);
    while (true) {
        try {
            return call();
        } catch (const Error& error) {
            if (!retry.again(error)) throw;
        }
    }
}

// Commits what a user settles by hand: waits out rows that are busy, and repeats safely in doubt.
// No outcome is `busy`.
[[nodiscard]] std::vector<WriteOutcome> settle(Backend& backend, std::span<const Write> writes);

}  // namespace pawl::store
