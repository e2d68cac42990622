#include "runtime/suspects.h"

#include <algorithm>
#include <utility>

namespace pawl::runtime {

using seam::Write;
using seam::WriteOutcome;

namespace {

constexpr Duration hand_back_within = 500ms;  // limits the delay by a database that does not answer

}  // namespace

int hand_back(
    Committer& committer, LeaseTable& leases, std::span<const std::shared_ptr<Call>> unstarted
) {
    std::vector<Write> writes;
    std::vector<Write> dropped;  // another worker may hold them in the restored store
    for (const auto& call : unstarted) {
        for (const Message& message : call->messages()) {
            auto& into = leases.dropped(message.lease()) ? dropped : writes;
            into.push_back({message.lease(), seam::HandBack{}});
        }
    }
    leases.forget(std::span<const Write>(dropped));
    const int count = static_cast<int>(writes.size());
    committer.submit(
        std::move(writes),
        [&leases](std::span<const Write> written, std::span<const WriteOutcome>) {
            leases.forget(written);
        }
    );
    return count;
}

void Suspects::hold(Calls calls) {
    for (auto& call : calls) {
        const Duration lease = call->claimed_lease();
        const auto until = call->claimed_at_steady() + SuspectPolicy::hold_time(lease);
        held_.push_back({std::move(call), lease, until});
    }
}

void Suspects::execute_due(const std::stop_token& stop) {
    if (held_.empty()) return;
    if (policy_.may_begin(Clock::now()) && !stop.stop_requested()) execute_first(stop);
    give_back_old(Clock::now());
}

void Suspects::finish() {
    while (!held_.empty()) execute_first({});
}

int Suspects::take_handed_back() {
    return std::exchange(handed_back_, 0);
}

Suspects::Clock::time_point Suspects::next_check() const {
    if (held_.empty()) return Clock::now() + std::chrono::hours(1);
    auto next = policy_.next_window();
    for (const DeferredCall& held : held_) next = std::min(next, held.until);
    return next;
}

int Suspects::hand_back_all() {
    Calls calls;
    for (DeferredCall& held : held_) calls.push_back(std::move(held.call));
    held_.clear();
    const int count = hand_back(committer_, leases_, calls);
    handed_back_ += count;
    return count;
}

void Suspects::execute_first(const std::stop_token& stop) {
    const auto call = held_.front().call;
    const Duration lease = held_.front().lease;
    policy_.begin(Clock::now());
    {
        const Executor::StartsHeld held(executor_);
        const auto start_at = [&](Clock::time_point last_start) {
            return policy_.start_at(last_start, lease);
        };
        if (executor_.wait_to_start(start_at, stop)) {
            held_.erase(held_.begin());
            // If this one crashes the process, the others must not get a strike.
            hand_back_all();
            committer_.flush(Clock::now() + hand_back_within);
            executor_.push_alone(call);
            executor_.wait_until_ended(*call, SuspectPolicy::end_at(Clock::now()), stop);
        }
    }
    policy_.end(Clock::now());
}

void Suspects::give_back_old(Clock::time_point now) {
    const auto kept = std::partition(held_.begin(), held_.end(), [&](const DeferredCall& held) {
        return held.until > now;
    });
    Calls calls;
    for (auto held = kept; held != held_.end(); ++held) calls.push_back(std::move(held->call));
    held_.erase(kept, held_.end());
    handed_back_ += hand_back(committer_, leases_, calls);
}

}  // namespace pawl::runtime
