#include "seam/wake_hub.h"

#include <algorithm>

namespace pawl::seam {

WakeHub::Ticket WakeHub::ticket() {
    const std::lock_guard lock(mutex_);
    return last_;
}

std::size_t WakeHub::waiters() {
    const std::lock_guard lock(mutex_);
    return waiters_.size() + observations_.size();
}

WakeHub::Observation::Observation(WakeHub& hub, const WakeTopic& topic, std::function<void()> then)
    : hub_(hub), topic_(topic), then_(std::move(then)) {
    const std::lock_guard lock(hub_.mutex_);
    hub_.observations_.push_back(this);
}

WakeHub::Observation::~Observation() {
    const std::lock_guard lock(hub_.mutex_);
    hub_.observations_.remove(this);
}

void WakeHub::notify(const WakeTopic& topic) {
    const std::lock_guard lock(mutex_);
    by_topic_[topic] = ++last_;
    wake_concerned();
    for (const Observation* const observation : observations_) {
        if (observation->topic_ == topic) observation->then_();
    }
}

void WakeHub::notify_all() {
    const std::lock_guard lock(mutex_);
    all_ = ++last_;
    wake_concerned();
    for (const Observation* const observation : observations_) observation->then_();
}

// The mutex is held.
void WakeHub::wake_concerned() {
    for (Waiter& waiter : waiters_) {
        if (woken(waiter.ticket, waiter.topics)) waiter.woken.notify_one();
    }
}

bool WakeHub::woken(Ticket ticket, std::span<const WakeTopic> topics) const {
    if (all_ > ticket) return true;
    if (last_ <= ticket) return false;
    if (topics.empty()) return true;
    return std::ranges::any_of(topics, [&](const WakeTopic& topic) {
        const auto found = by_topic_.find(topic);
        return found != by_topic_.end() && found->second > ticket;
    });
}

bool WakeHub::wait(
    Ticket ticket,
    std::span<const WakeTopic> topics,
    std::chrono::steady_clock::time_point deadline,
    const std::stop_token& stop
) {
    std::unique_lock lock(mutex_);
    if (woken(ticket, topics)) return true;
    const auto self = waiters_.emplace(waiters_.end());
    self->ticket = ticket;
    self->topics = topics;
    const bool result =
        self->woken.wait_until(lock, stop, deadline, [&] { return woken(ticket, topics); });
    waiters_.erase(self);
    return result;
}

}  // namespace pawl::seam
