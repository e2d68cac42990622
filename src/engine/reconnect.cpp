#include "engine/reconnect.h"

#include <algorithm>
#include <fmt/format.h>
#include <thread>

#include "base/deadline.h"

namespace pawl::engine {

Retry::Retry(seam::Engine& backend)
    : backend_(backend),
      outage_(backend.outage()),
      deadline_(base::deadline_after(backend.options().retry_timeout)) {}

Retry::~Retry() {
    if (std::uncaught_exceptions() == uncaught_) outage_.succeeded();
}

bool Retry::again(const Error& error) {
    return error.retryable() && !error.in_doubt() && wait(error);
}

bool Retry::wait(const Error& error) {
    // The first retry is immediate and not logged: usually an idle connection had died unnoticed.
    if (pause_ > Duration::zero() && !outage_.failed(error))
        backend_.log().warning(fmt::format("call failed, retrying: {}", error.what()));
    return pause();
}

bool Retry::wait(std::string_view why) {
    if (pause_ == Duration(20)) backend_.log().warning(fmt::format("retrying: {}", why));
    return pause();
}

bool Retry::pause() {
    const auto left = deadline_ - std::chrono::steady_clock::now();
    if (left <= decltype(left)::zero()) return false;
    std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(pause_, left));
    pause_ = std::clamp<Duration>(pause_ * 2, 20ms, 1s);
    return true;
}

}  // namespace pawl::engine
