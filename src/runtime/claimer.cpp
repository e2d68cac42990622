#include "runtime/claimer.h"

#include <algorithm>
#include <fmt/format.h>

#include "base/deadline.h"
#include "engine/reconnect.h"
#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

namespace {

constexpr Duration check_unhandled_every = 200ms;
constexpr Duration poll_without_notify = 500ms;  // if other processes cannot wake this one
constexpr int max_claim = 1'000;

void set_stale_at(Call& call) {
    const auto first = std::ranges::min_element(call.messages(), {}, &Message::visible_at);
    call.stale_at = call.claimed_at_steady() + (first->visible_at - call.claimed_at()) / 2;
}

}  // namespace

Claimer::Claimer(
    seam::Engine& backend,
    const WorkerOptions& options,
    const std::atomic<WorkerId>& worker,
    const Parts& parts
)
    : backend_(backend),
      options_(options),
      worker_(worker),
      executor_(parts.executor),
      committer_(parts.committer),
      leases_(parts.leases),
      meters_(parts.meters),
      log_(parts.log),
      outage_(backend.outage()),
      suspects_(executor_, committer_, leases_),
      sources_(backend, options, worker, log_) {}

Claimer::~Claimer() {
    stop();
}

void Claimer::start() {
    const std::lock_guard lock(lifecycle_);
    if (!thread_.joinable())
        thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void Claimer::stop() {
    const std::lock_guard lock(lifecycle_);
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

void Claimer::pause() {
    paused_ = true;
}

void Claimer::resume() {
    paused_ = false;
    backend_.wake_hub().notify_all();
}

void Claimer::assume_stale_liveness() {
    liveness_stale_since_ = Clock::now();
}

// Other workers have had the time of a lease to send a heartbeat since the last time that one may
// have been missed, whichever service of this process noticed it.
bool Claimer::knows_liveness() const {
    const auto missed = std::max(liveness_stale_since_.load(), backend_.outage().last_failure());
    return missed == Clock::time_point{} ||
           Clock::now() - missed >= options_.lease.value_or(backend_.options().lease);
}

void Claimer::work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        try {
            const auto ticket = backend_.wake_hub().ticket();
            if (paused_) suspects_.hand_back_all();
            suspects_.execute_due(stop);
            hand_back_unknown();
            if (!paused_) claim_once(seam::Scan::streaming, stop);
            if (paused_ || !more_) wait_for_work(ticket, stop);
            error_pause_ = 20ms;
        } catch (const std::exception& error) {
            assume_stale_liveness();
            note_lost_answer();
            if (!outage_.failed(error))
                log_.write(
                    LogLevel::warning,
                    fmt::format(
                        "claim failed, retrying in {} ms: {}", error_pause_.count(), error.what()
                    )
                );
            if (meters_ != nullptr) meters_->claim_errors.add();
            sleep_until_stop(Clock::now() + error_pause_, stop);
            error_pause_ = std::min<Duration>(error_pause_ * 2, 1s);
        }
    }
}

// A worker that subscribes to a prefix fails unhandled runs below it. Workers are not declared lost
// while heartbeats could not be written.
void Claimer::fail_unhandled() {
    if (options_.prefixes.empty() || !knows_liveness()) return;
    unhandled_postponed_ = Clock::now() - unhandled_at_ < check_unhandled_every;
    if (unhandled_postponed_) return;
    for (const RunId run : backend_.fail_unhandled(options_.prefixes))
        log_.write(
            LogLevel::error,
            fmt::format("run {} failed: no live worker has a handler for its workflow", run.value())
        );
    unhandled_at_ = Clock::now();
}

// The loop of a started worker repeats failed claims itself.
template <class Call>
auto Claimer::retry_in_round(Call call) {
    if (!round_) return call();
    engine::Retry retry(backend_);
    while (true) {
        try {
            return call();
        } catch (const Error& error) {
            assume_stale_liveness();
            note_lost_answer();
            if (meters_ != nullptr) meters_->claim_errors.add();
            if (!retry.again(error)) throw;
        }
    }
}

int Claimer::claim_ready() {
    round_.emplace(committer_, leases_);
    const auto end_round = [&] {
        round_->hand_back_all_late();
        round_.reset();
    };
    int count = 0;
    try {
        do {
            count += claim_once(seam::Scan::exact, {});
            suspects_.execute_due({});
            round_->hand_back_late(Clock::now());
        } while (more_ && round_->may_hold_more());
    } catch (...) {
        end_round();
        throw;
    }
    end_round();
    return count;
}

Claimer::Clock::time_point Claimer::next_check() const {
    const auto next = suspects_.next_check();
    return round_ ? std::min(next, round_->next_check()) : next;
}

// The first source may use all of the room; the others get what it leaves. The first one rotates.
int Claimer::claim_once(seam::Scan scan, const std::stop_token& stop) {
    int room = executor_.wait_for_room(stop, next_check());
    more_ = true;
    if (room == 0 || (paused_ && scan == seam::Scan::streaming)) return 0;
    retry_in_round([&] {
        sources_.refresh();
        fail_unhandled();
    });
    more_ = false;
    due_at_ = Clock::time_point::max();
    int count = 0;
    for (ClaimSource* const source : sources_.next_turn()) {
        if (room <= 0) more_ = true;
        if (room <= 0 || stop.stop_requested()) break;
        const Taken taken = claim_from(*source, room, scan, stop);
        count += taken.messages;
        room -= taken.calls;
    }
    return count;
}

Claimer::Taken Claimer::claim_from(
    ClaimSource& source, int room, seam::Scan scan, const std::stop_token& stop
) {
    if (source.stream.queues().empty()) return {};
    const int wanted = std::min(room * source.batch_size, std::max(max_claim, source.batch_size));
    auto asked_at = Clock::now();
    source.stream.set_worker(worker_);
    seam::Claim claim = retry_in_round([&] {
        if (round_) hand_back_unknown();
        asked_at = Clock::now();
        return source.stream.next(wanted, scan);
    });
    outage_.succeeded();
    if (meters_ != nullptr) {
        meters_->claim_duration.observe(
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked_at)
        );
        meters_->claim_size.observe(static_cast<std::int64_t>(claim.messages.size()));
    }
    const bool late = round_ && !claim.messages.empty() && !round_->note(claim);
    // A claim that did not fill the room has taken everything that was ready.
    const bool filled = static_cast<int>(claim.messages.size()) >= wanted;
    if (claim.more || filled) more_ = true;
    if (claim.next_due)
        due_at_ = std::min(due_at_, base::deadline_after(*claim.next_due - claim.now));
    if (claim.messages.empty()) {
        log_claim(claim, {});
        return {};
    }

    leases_.add(claim.messages, claim.now, asked_at);
    const int count = static_cast<int>(claim.messages.size());
    auto calls = to_calls(claim, asked_at);
    // The worker was suspended during the claim: hand the messages back.
    const bool suspended = paused_ && scan == seam::Scan::streaming;
    if (late || suspended) {
        if (suspended) hand_back(committer_, leases_, calls);
        if (late) round_->hold_late(std::move(calls), asked_at);
        return {};
    }
    log_claim(claim, calls);
    const Taken taken{count, static_cast<int>(calls.size())};
    const auto suspects = std::stable_partition(calls.begin(), calls.end(), [](const auto& call) {
        return !Suspects::is_suspect(call->messages().front());
    });
    if (suspects != calls.end()) more_ = true;  // usually claimed alone, so there may be more
    suspects_.hold({std::make_move_iterator(suspects), std::make_move_iterator(calls.end())});
    calls.erase(suspects, calls.end());
    executor_.push(std::move(calls));
    suspects_.execute_due(stop);
    return taken;
}

// One call per message, or per batch of a queue's messages, in the order of the claim. Suspects are
// never batched.
Claimer::Calls Claimer::to_calls(seam::Claim& claim, Clock::time_point asked_at) {
    Calls calls;
    std::unordered_map<const HandlerSpec*, MessageCall*> open;
    auto& runners = executor_.runners();
    for (std::size_t i = 0; i < claim.messages.size(); ++i) {
        const HandlerSpec* const spec = sources_.handler_of(claim.queues[i]);
        const Call::Origin origin{
            spec,
            &leases_,
            &log_,
            meters_ == nullptr ? nullptr : meters_->of(*spec),
            claim.now,
            asked_at};
        Message& message = claim.messages[i];
        message.queue = spec->queue;
        if (i < claim.tasks.size()) {
            calls.push_back(std::make_shared<TaskCall>(
                origin, runners.tasks, std::move(message), std::move(claim.tasks[i])
            ));
            continue;
        }
        if (i < claim.runs.size() && claim.runs[i]) {
            calls.push_back(std::make_shared<RunCall>(
                origin,
                runners.runs,
                std::move(message),
                std::move(*claim.runs[i]),
                sources_.workflow_of(claim.queues[i], *spec)
            ));
            continue;
        }
        MessageCall* single = nullptr;
        MessageCall*& batch = Suspects::is_suspect(message) ? single : open[spec];
        const auto batch_size = static_cast<std::size_t>(spec->batch_size);
        if (batch == nullptr || batch->batch.size() >= batch_size) {
            auto call = std::make_shared<MessageCall>(origin, runners.messages);
            batch = call.get();
            batch->batch.reserve(batch_size);
            calls.push_back(std::move(call));
        }
        batch->batch.push_back(std::move(message));
    }
    for (const auto& call : calls) set_stale_at(*call);
    return calls;
}

// The server may still execute a claim whose connection was cut, so check several times.
void Claimer::note_lost_answer() {
    const auto now = Clock::now();
    ask_for_leases_at_ = {now, now + 5s, now + backend_.options().call_timeout};
}

// A claim whose answer was lost has leased messages that the worker does not know. They are handed
// back without a strike instead of waiting for the end of the lease.
void Claimer::hand_back_unknown() {
    if (ask_for_leases_at_.empty() || Clock::now() < ask_for_leases_at_.front()) return;
    std::vector<seam::Write> writes;
    for (const Lease& lease : backend_.leases_of(worker_, sources_.queues())) {
        if (!leases_.knows(lease)) writes.push_back({lease, seam::HandBack{}});
    }
    ask_for_leases_at_.erase(ask_for_leases_at_.begin());
    if (writes.empty()) return;
    log_.write(
        LogLevel::warning,
        fmt::format("handed back {} messages of a claim whose answer was lost", writes.size())
    );
    if (!round_) return committer_.submit(std::move(writes), {});
    // The round claims them again.
    base::OneShotEvent committed;
    committer_.submit(std::move(writes), [&](auto, auto) { committed.open(); });
    committed.wait();
}

void Claimer::log_claim(const seam::Claim& claim, const std::vector<std::shared_ptr<Call>>& calls) {
    for (const seam::Poisoned& poisoned : claim.poisoned) {
        const HandlerSpec* const spec = sources_.handler_of(poisoned.queue);
        if (spec != nullptr) log_.poisoned(*spec, poisoned.message, poisoned.reason);
    }
    for (const seam::TakenOver& taken : claim.taken_over) {
        const auto call = std::ranges::find_if(calls, [&](const auto& candidate) {
            return std::ranges::count(candidate->messages(), taken.message, &Message::id) > 0;
        });
        if (call != calls.end()) log_.taken_over(**call, taken.from);
    }
}

void Claimer::wait_for_work(seam::WakeHub::Ticket ticket, const std::stop_token& stop) {
    Duration poll = options_.poll_interval.value_or(backend_.options().poll_interval);
    if (!backend_.capabilities().remote_wakeups) poll = std::min(poll, poll_without_notify);
    auto until = base::deadline_after(poll);
    if (!paused_) until = std::clamp(due_at_, Clock::now() + 1ms, until);
    until = std::min(until, suspects_.next_check());
    if (!ask_for_leases_at_.empty()) until = std::min(until, ask_for_leases_at_.front());
    if (!options_.prefixes.empty()) {
        // Any queue may have unhandled runs, also when a delay ends. A postponed check is repeated
        // as soon as the minimum interval has elapsed.
        until = std::min(until, Clock::now() + (unhandled_postponed_ ? check_unhandled_every : 1s));
        backend_.wake_hub().wait(ticket, {}, until, stop);
        return;
    }
    backend_.wake_hub().wait(ticket, sources_.topics(), until, stop);
}

}  // namespace pawl::runtime
