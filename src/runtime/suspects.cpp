#include "runtime/suspects.h"

#include <algorithm>

namespace pawl::runtime {

using store::settle_write;
using store::Write;
using store::WriteKind;
using store::WriteOutcome;

namespace {

constexpr Duration longest_hold = 1s;
constexpr Duration first_patience = 1s;
constexpr Duration longest_patience = std::chrono::hours(24);
// Of the time, a fifth at most goes by without claiming.
constexpr int work_per_patience = 4;
// None was put off for so long: what there was has been executed elsewhere.
constexpr Duration forgotten_after = 1min;
constexpr Duration hand_back_within = 200ms;

}  // namespace

int hand_back(
    Committer& committer, LeaseTable& leases, std::span<const std::shared_ptr<Executing>> unstarted
) {
    std::vector<Write> writes;
    for (const auto& executing : unstarted) {
        for (const Message& message : executing->messages)
            writes.push_back(settle_write(WriteKind::hand_back, message.lease()));
    }
    const int count = static_cast<int>(writes.size());
    committer.submit(
        std::move(writes),
        [&leases](std::span<const Write> settled, std::span<const WriteOutcome>) {
            leases.forget(settled);
        }
    );
    return count;
}

void Suspects::hold(Calls calls) {
    for (auto& call : calls) {
        const auto lease = call->messages.front().visible_at - call->claimed_at;
        const auto time = std::min<Clock::duration>(longest_hold, lease / 4);
        const auto until = call->claimed_at_steady + time;
        held_.push_back({std::move(call), until});
    }
}

void Suspects::attend(const std::stop_token& stop) {
    if (held_.empty()) return;
    const bool postponed = give_back_old(Clock::now());
    while (!held_.empty() && !stop.stop_requested() && executor_.wait_until_idle(Clock::now()))
        run_alone(stop);
    if (postponed) make_room(stop);
}

Suspects::Clock::time_point Suspects::next_look() const {
    auto next = Clock::now() + std::chrono::hours(1);
    for (const Held& held : held_) next = std::min(next, held.until);
    return next;
}

int Suspects::give_back_all() {
    Calls calls;
    for (Held& held : held_) calls.push_back(std::move(held.call));
    held_.clear();
    return hand_back(committer_, leases_, calls);
}

// It may take long: the others shall not wait for it here.
void Suspects::run_alone(const std::stop_token& stop) {
    Calls calls{std::move(held_.front().call)};
    held_.erase(held_.begin());
    give_back_all();
    patience_ = {};
    executor_.push(std::move(calls));
    executor_.wait_until_idle(Clock::now() + std::chrono::years(1), stop);
}

// True: some went back.
bool Suspects::give_back_old(Clock::time_point now) {
    const auto kept = std::partition(held_.begin(), held_.end(), [&](const Held& held) {
        return held.until > now;
    });
    Calls calls;
    for (auto held = kept; held != held_.end(); ++held) calls.push_back(std::move(held->call));
    held_.erase(kept, held_.end());
    return hand_back(committer_, leases_, calls) > 0;
}

void Suspects::note_postponed(Clock::time_point now) {
    if (patience_ == Duration::zero() || now - put_off_at_ > forgotten_after) {
        patience_ = first_patience;
        try_at_ = now + work_per_patience * patience_;
    }
    put_off_at_ = now;
}

// Where no other worker has executed them meanwhile either, this one stops claiming until it is
// idle, for longer each time. Then the next claim brings one, before any other work.
void Suspects::make_room(const std::stop_token& stop) {
    note_postponed(Clock::now());
    if (Clock::now() < try_at_) return;
    committer_.flush(Clock::now() + hand_back_within);
    if (executor_.wait_until_idle(Clock::now() + patience_, stop)) {
        patience_ = {};
        come_first_ = true;
        return;
    }
    patience_ = std::min(patience_ * 2, longest_patience);
    put_off_at_ = Clock::now();
    try_at_ = put_off_at_ + work_per_patience * patience_;
}

}  // namespace pawl::runtime
