#include "runtime/services/watchdog.h"

#include <pawl/types.h>

#include "base/literals.h"

namespace pawl::runtime {

namespace {
constexpr Duration watch_every = 100ms;
}

Watchdog::Watchdog(ServiceTimer& timer)
    : service_(timer, "watchdog", [this](auto now) { return check(now); }) {
    service_.start();
}

Watchdog::WatchScope::WatchScope(Watchdog& watchdog, Watched& watched)
    : watchdog_(watchdog), watched_(watched) {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.watched_.insert(&watched);
    if (!watchdog_.asleep_) return;
    watchdog_.asleep_ = false;
    watchdog_.service_.run_by(ServiceTimer::Clock::now() + watch_every);
}

Watchdog::WatchScope::~WatchScope() {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.watched_.erase(&watched_);
}

std::vector<std::string> Watchdog::describe() {
    std::vector<std::string> lines;
    const std::lock_guard lock(mutex_);
    for (const Watched* watched : watched_) {
        if (auto line = watched->describe(); !line.empty()) lines.push_back(std::move(line));
    }
    return lines;
}

ServiceTimer::Clock::time_point Watchdog::check(ServiceTimer::Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    for (Watched* watched : watched_) {
        if (auto source = watched->check_deadlines(now)) stopper_.stop(std::move(*source));
    }
    asleep_ = watched_.empty();
    return asleep_ ? ServiceTimer::never : now + watch_every;
}

}  // namespace pawl::runtime
