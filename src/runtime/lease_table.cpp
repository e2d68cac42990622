#include "runtime/lease_table.h"

#include <algorithm>

#include "runtime/call.h"

namespace pawl::runtime {

using seam::Write;
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
            HeldLease& held = held_[message.id];
            lose(held, false);  // an earlier delivery, whose lease ended unnoticed
            held = {message.delivery, lease, asked_at + lease, nullptr, false, false};
            if (asked_at + lease < expire_at_) {
                expire_at_ = asked_at + lease;
                if (on_sooner_) on_sooner_(expire_at_);
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

void LeaseTable::forget(std::span<const Write> committed) {
    const std::lock_guard lock(mutex_);
    for (const Write& write : committed) forget(write.lease);
}

void LeaseTable::forget(std::span<const Message> messages) {
    const std::lock_guard lock(mutex_);
    for (const Message& message : messages) forget(message.lease());
}

void LeaseTable::forget(const Lease& lease) {
    const auto at = held_.find(lease.message);
    // This worker may already hold a later delivery of the same message.
    if (at != held_.end() && at->second.delivery == lease.delivery) held_.erase(at);
}

std::size_t LeaseTable::assign(const std::shared_ptr<Call>& call) {
    const std::lock_guard lock(mutex_);
    for (const Message& message : call->messages()) {
        const auto at = held_.find(message.id);
        if (at == held_.end() || at->second.delivery != message.delivery || at->second.lost)
            continue;
        at->second.call = call;
        call->lease_ends_at = at->second.ends_at;
        ++call->leases_left;
    }
    return call->leases_left;
}

std::vector<Write> LeaseTable::extensions() const {
    const std::lock_guard lock(mutex_);
    std::vector<Write> writes;
    writes.reserve(held_.size());
    for (const auto& [id, held] : held_) {
        if (held.lost || !held.call) continue;
        seam::Extend extension{held.lease};
        if (const seam::ClaimedTask* const task = held.call->claimed_task())
            extension.task = task->task;
        writes.push_back({{id, held.delivery}, std::move(extension)});
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
            at->second.ends_at = asked_at + extensions[i].as<seam::Extend>().lease;
            if (at->second.call) at->second.call->lease_ends_at = at->second.ends_at;
        }
        const bool cancelled = outcomes[i].status == WriteStatus::cancelled;
        if (cancelled || outcomes[i].status == WriteStatus::lease_lost) lose(at->second, cancelled);
    }
}

void LeaseTable::on_sooner(std::function<void(Clock::time_point)> then) {
    const std::lock_guard lock(mutex_);
    on_sooner_ = std::move(then);
}

// Heartbeats extend leases all the time, so the next end is computed only when it would be due.
LeaseTable::Clock::time_point LeaseTable::expire(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    expire_at_ = now + std::chrono::hours(1);
    for (auto& [id, held] : held_) {
        if (held.ends_at <= now) {
            lose(held, false);
        } else if (!held.lost) {
            expire_at_ = std::min(expire_at_, held.ends_at);
        }
    }
    return expire_at_;
}

std::size_t LeaseTable::drop_all() {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (auto& [id, held] : held_) {
        if (!held.lost) ++count;
        held.dropped = true;
        if (held.call) held.call->dropped = true;
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
void LeaseTable::lose(HeldLease& held, bool cancelled) {
    if (held.lost) return;
    held.lost = true;
    if (!held.call) return;
    if (cancelled) held.call->cancelled = true;
    if (--held.call->leases_left == 0) {
        held.call->lost = true;
        stopper_.stop(held.call->stop);
    }
}

bool LeaseTable::holds(RunId run) const {
    const std::lock_guard lock(mutex_);
    if (held_.contains(MessageId(run.value()))) return true;
    return std::ranges::any_of(held_, [&](const auto& entry) {
        const auto& call = entry.second.call;
        const seam::ClaimedTask* const task = call ? call->claimed_task() : nullptr;
        return task != nullptr && task->task.run == run;
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
