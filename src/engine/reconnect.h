// Retries a call while the database does not answer, up to ConnectOptions::retry_timeout. A write
// whose answer was lost is not repeated here: only the caller knows whether that is safe.
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
    // Sleeps and returns true if the call may be repeated. If false, the caller rethrows the error.
    [[nodiscard]] bool again(const Error& error);
    // Only sleeps, for callers that know that repeating is safe. Returns false at the deadline.
    [[nodiscard]] bool wait(const Error& error);
    [[nodiscard]] bool wait(std::string_view why);  // why the database cannot do it now

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
