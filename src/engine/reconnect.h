// Keeps a call going while the database is away, up to ConnectOptions::retry_timeout. A write whose
// answer was lost is never repeated blindly: that is the caller's to decide.
#pragma once

#include <chrono>
#include <exception>

#include "seam/engine.h"

namespace pawl::engine {

class Retry {
public:
    explicit Retry(seam::Engine& backend);
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

    seam::Engine& backend_;
    base::Outage::Reporter outage_;
    const int uncaught_ = std::uncaught_exceptions();
    std::chrono::steady_clock::time_point deadline_;
    Duration pause_{0};
};

template <class Call>
auto retrying(seam::Engine& backend, Call call) {
    Retry retry(backend);
    while (true) {
        try {
            return call();
        } catch (const Error& error) {
            if (!retry.again(error)) throw;
        }
    }
}

}  // namespace pawl::engine
