#include "seam/run_wakeups.h"

#include <utility>

namespace pawl::seam {

RunWakeups::Watch::Watch(RunWakeups& signals, RunId run, Group* group)
    : signals_(signals), run_(run), group_(group) {
    const std::lock_guard lock(signals_.mutex_);
    signals_.watches_.emplace(run, this);
    ++signals_.watches_count_;
}

RunWakeups::Watch::~Watch() {
    const std::lock_guard lock(signals_.mutex_);
    const auto [first, last] = signals_.watches_.equal_range(run_);
    for (auto at = first; at != last; ++at) {
        if (at->second != this) continue;
        signals_.watches_.erase(at);
        --signals_.watches_count_;
        return;
    }
}

bool RunWakeups::Watch::wait(
    std::chrono::steady_clock::time_point deadline, const std::stop_token& stop
) {
    std::unique_lock lock(signals_.mutex_);
    ++signals_.waiters_;
    signals_.changed_.wait_until(lock, stop, deadline, [&] { return signalled_; });
    --signals_.waiters_;
    return std::exchange(signalled_, false);
}

std::set<RunId> RunWakeups::Group::wait(
    std::chrono::steady_clock::time_point deadline, const std::stop_token& stop
) {
    std::unique_lock lock(signals_.mutex_);
    ++signals_.waiters_;
    signals_.changed_.wait_until(lock, stop, deadline, [&] {
        return interrupted_ || !signalled_.empty();
    });
    --signals_.waiters_;
    interrupted_ = false;
    return std::exchange(signalled_, {});
}

void RunWakeups::Group::interrupt() {
    {
        const std::lock_guard lock(signals_.mutex_);
        interrupted_ = true;
    }
    signals_.changed_.notify_all();
}

void RunWakeups::signal(Watch& watch) {
    if (watch.group_ == nullptr) {
        watch.signalled_ = true;
    } else {
        watch.group_->signalled_.insert(watch.run_);
    }
}

RunWakeups::Observation::Observation(RunWakeups& signals, Observer observer) : signals_(signals) {
    const std::lock_guard lock(signals_.observers_mutex_);
    place_ = signals_.observers_.insert(signals_.observers_.end(), std::move(observer));
}

RunWakeups::Observation::~Observation() {
    const std::lock_guard lock(signals_.observers_mutex_);
    signals_.observers_.erase(place_);
}

int RunWakeups::waiters() {
    const std::lock_guard lock(mutex_);
    return waiters_;
}

void RunWakeups::notify(RunId run) {
    if (!watched()) return;
    {
        const std::lock_guard lock(mutex_);
        const auto [first, last] = watches_.equal_range(run);
        for (auto at = first; at != last; ++at) signal(*at->second);
    }
    changed_.notify_all();
}

void RunWakeups::notify_cancelled(RunId run) {
    notify(run);
    const std::lock_guard lock(observers_mutex_);
    for (const Observer& observer : observers_) observer(run);
}

void RunWakeups::notify_workers() {
    const std::lock_guard lock(observers_mutex_);
    for (const Observer& observer : observers_) observer(RunId());
}

void RunWakeups::notify_all() {
    notify_workers();
    if (!watched()) return;
    {
        const std::lock_guard lock(mutex_);
        for (const auto& [run, watch] : watches_) signal(*watch);
    }
    changed_.notify_all();
}

}  // namespace pawl::seam
