#include "runtime/lease_table.h"

#include <algorithm>

#include "runtime/executing.h"

namespace pawl::runtime {

using seam::Write;
using seam::WriteKind;
using seam::WriteOutcome;
using seam::WriteStatus;

void LeaseTable::add(
    std::span<const Message> messages, Timestamp claimed_at, Clock::time_point asked_at
) {
    std::function<void()> tell_shorter;
    {
        const std::lock_guard lock(mutex_);
        for (const Message& message : messages) {
            const auto lease =
                std::chrono::duration_cast<Duration>(message.visible_at - claimed_at);
            Held& held = held_[message.id];
            lose(held, false);  // an earlier delivery, which ended without our knowledge
            held = {message.delivery, lease, asked_at + lease, nullptr, false, false};
            if (asked_at + lease < expire_at_) {
                expire_at_ = asked_at + lease;
                sooner_.notify_one();
            }
            if (lease < shortest_) tell_shorter = on_shorter_;
        }
    }
    if (tell_shorter) tell_shorter();
}

Duration LeaseTable::shortest(Duration longest) {
    const std::lock_guard lock(mutex_);
    shortest_ = longest;
    for (const auto& [id, held] : held_) {
        if (!held.lost) shortest_ = std::min(shortest_, held.lease);
    }
    return shortest_;
}

void LeaseTable::on_shorter(std::function<void()> then) {
    const std::lock_guard lock(mutex_);
    on_shorter_ = std::move(then);
}

void LeaseTable::forget(std::span<const Write> settled) {
    const std::lock_guard lock(mutex_);
    for (const Write& write : settled) {
        const auto at = held_.find(write.lease.message);
        // A later delivery of the same message may be in our hands already.
        if (at != held_.end() && at->second.delivery == write.lease.delivery) held_.erase(at);
    }
}

std::size_t LeaseTable::assign(const std::shared_ptr<Executing>& executing) {
    const std::lock_guard lock(mutex_);
    for (const Message& message : executing->messages) {
        const auto at = held_.find(message.id);
        if (at == held_.end() || at->second.delivery != message.delivery || at->second.lost)
            continue;
        at->second.executing = executing;
        executing->lease_ends_at = at->second.ends_at;
        ++executing->leases_left;
    }
    return executing->leases_left;
}

std::vector<Write> LeaseTable::extensions() const {
    const std::lock_guard lock(mutex_);
    std::vector<Write> writes;
    writes.reserve(held_.size());
    for (const auto& [id, held] : held_) {
        if (held.lost || !held.executing) continue;
        writes.push_back(seam::settle_write(WriteKind::extend, {id, held.delivery}, held.lease));
        if (held.executing->task) writes.back().task = held.executing->task->task;
    }
    return writes;
}

void LeaseTable::extended(
    std::span<const Write> extensions,
    std::span<const WriteOutcome> outcomes,
    Clock::time_point asked_at
) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < extensions.size(); ++i) {
        const auto at = held_.find(extensions[i].lease.message);
        if (at == held_.end() || at->second.delivery != extensions[i].lease.delivery) continue;
        if (outcomes[i].status == WriteStatus::done) {
            at->second.ends_at = asked_at + extensions[i].delay;
            if (at->second.executing) at->second.executing->lease_ends_at = at->second.ends_at;
        }
        const bool cancelled = outcomes[i].status == WriteStatus::cancelled;
        if (cancelled || outcomes[i].status == WriteStatus::lease_lost) lose(at->second, cancelled);
    }
}

// Heartbeats move the ends all the time, so the next one is looked for only when it would be due.
void LeaseTable::expire_in_time(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
        const auto at = expire_at_;
        const auto sooner = [&] { return expire_at_ != at; };
        if (!sooner_.wait_until(lock, stop, at, sooner)) expire(Clock::now());
    }
}

// The mutex is held.
void LeaseTable::expire(Clock::time_point now) {
    expire_at_ = now + std::chrono::hours(1);
    for (auto& [id, held] : held_) {
        if (held.ends_at <= now) {
            lose(held, false);
        } else if (!held.lost) {
            expire_at_ = std::min(expire_at_, held.ends_at);
        }
    }
}

std::size_t LeaseTable::drop_all() {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (auto& [id, held] : held_) {
        if (!held.lost) ++count;
        held.dropped = true;
        if (held.executing) held.executing->dropped = true;
        lose(held, false);
    }
    return count;
}

bool LeaseTable::dropped(const Lease& lease) const {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find(lease.message);
    return at != held_.end() && at->second.delivery == lease.delivery && at->second.dropped;
}

// The mutex is held.
void LeaseTable::lose(Held& held, bool cancelled) {
    if (held.lost) return;
    held.lost = true;
    if (!held.executing) return;
    if (cancelled) held.executing->cancelled = true;
    if (--held.executing->leases_left == 0) {
        held.executing->lost = true;
        stopper_.stop(held.executing->stop);
    }
}

bool LeaseTable::holds(RunId run) const {
    const std::lock_guard lock(mutex_);
    if (held_.contains(MessageId(run.value()))) return true;
    return std::ranges::any_of(held_, [&](const auto& entry) {
        const auto& executing = entry.second.executing;
        return executing && executing->task && executing->task->task.run == run;
    });
}

bool LeaseTable::knows(const Lease& lease) const {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find(lease.message);
    return at != held_.end() && at->second.delivery == lease.delivery;
}

bool LeaseTable::lost(const Lease& lease) const {
    const std::lock_guard lock(mutex_);
    const auto at = held_.find(lease.message);
    return at == held_.end() || at->second.delivery != lease.delivery || at->second.lost;
}

std::vector<Lease> LeaseTable::held() const {
    const std::lock_guard lock(mutex_);
    std::vector<Lease> leases;
    leases.reserve(held_.size());
    for (const auto& [message, held] : held_) {
        if (!held.lost) leases.push_back({message, held.delivery});
    }
    return leases;
}

bool LeaseTable::empty() const {
    const std::lock_guard lock(mutex_);
    return held_.empty();
}

}  // namespace pawl::runtime
