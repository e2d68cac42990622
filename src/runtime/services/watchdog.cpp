#include "runtime/services/watchdog.h"

#include <pawl/types.h>

namespace pawl::runtime {

namespace {
constexpr Duration look_every = 100ms;
}

Watchdog::Watchdog() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

Watchdog::~Watchdog() {
    thread_.request_stop();
    thread_.join();
}

Watchdog::WatchScope::WatchScope(Watchdog& watchdog, Watched& watched)
    : watchdog_(watchdog), watched_(watched) {
    const std::lock_guard lock(watchdog_.mutex_);
    watchdog_.watched_.insert(&watched);
    if (watchdog_.asleep_) watchdog_.changed_.notify_one();
    watchdog_.asleep_ = false;
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

void Watchdog::work(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        if (watched_.empty()) {
            asleep_ = true;
            changed_.wait(lock, stop, [&] { return !asleep_; });
        }
        changed_.wait_for(lock, stop, look_every, [] { return false; });
        const auto now = std::chrono::steady_clock::now();
        for (Watched* watched : watched_) {
            if (auto source = watched->check_deadlines(now)) stopper_.stop(std::move(*source));
        }
    }
}

}  // namespace pawl::runtime
