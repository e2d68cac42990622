#include "runtime/claimer.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "base/deadline.h"
#include "engine/reconnect.h"
#include "model/rules.h"
#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

namespace {

constexpr Duration refresh_every = 1s;
constexpr Duration check_unhandled_every = 200ms;
constexpr Duration poll_without_notify = 500ms;  // if other processes cannot wake this one
constexpr int max_claim = 1'000;

void set_stale_at(Call& call) {
    const auto first = std::ranges::min_element(call.messages(), {}, &Message::visible_at);
    call.stale_at = call.claimed_at_steady() + (first->visible_at - call.claimed_at()) / 2;
}

}  // namespace

bool Claimer::takes(const Source& source, const HandlerSpec& spec) const {
    const auto is_its_own = [&](const Source& other) { return other.only == &spec; };
    if (source.only != nullptr || std::ranges::any_of(sources_, is_its_own))
        return source.only == &spec;
    return (source.work == seam::Work::tasks) == (spec.flow != nullptr) &&
           source.batch_size == spec.batch_size;
}

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
      suspects_(executor_, committer_, leases_) {
    bool runs = false;
    std::set<int> batch_sizes;  // of message handlers; runs are not batched
    bool tasks = false;
    for (const HandlerSpec& spec : options.handlers) {
        names_.push_back(spec.queue);
        if (spec.workflow) runs = true;
        if (spec.flow) {
            tasks = true;
        } else {
            batch_sizes.insert(spec.batch_size);
        }
    }
    handles_workflows_ = runs || tasks;
    for (const int size : batch_sizes)
        add_source(runs && size == 1 ? seam::Work::runs : seam::Work::messages, size);
    if (tasks) add_source(seam::Work::tasks, 1);
    for (const HandlerSpec& spec : options.handlers) {
        if (spec.flow) add_partial_source(spec);
    }
}

Claimer::Source& Claimer::add_source(seam::Work work, int batch_size) {
    sources_.push_back({work, batch_size, engine::ClaimStream(backend_, worker_, options_.lease)});
    sources_.back().stream.set_work(work);
    return sources_.back();
}

void Claimer::add_partial_source(const HandlerSpec& spec) {
    const auto shape = engine::retrying(backend_, [&] { return backend_.flow_shape(spec.queue); });
    if (!shape) return;
    const auto& handlers = spec.flow->entries();
    std::vector<std::string> handled;
    std::vector<std::string> others;
    for (const FlowStep& step : shape->steps)
        (handlers.contains(step.slug) ? handled : others).push_back(step.slug);
    if (others.empty()) return;
    backend_.log().info(fmt::format(
        "worker '{}' does not claim tasks of these steps of flow '{}', it has no handlers for "
        "them: "
        "{}",
        options_.name,
        spec.queue,
        fmt::join(others, ", ")
    ));
    Source& source = add_source(seam::Work::tasks, 1);
    source.only = &spec;
    source.stream.set_steps(std::move(handled));
}

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

// A queue may be deleted and created again under the same name, so names are resolved regularly.
void Claimer::refresh_queues() {
    if (Clock::now() - refreshed_at_ < refresh_every) return;
    const auto ids = backend_.resolve_queues(names_);
    Specs specs;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i]) specs[ids[i]] = &options_.handlers[i];
    }
    if (handles_workflows_) {
        refresh_workflows(specs);
        std::erase_if(specs, [&](const auto& entry) {
            return !can_handle(entry.first, *entry.second);
        });
    }
    if (specs.size() < names_.size() &&
        (specs_.size() != specs.size() || refreshed_at_ == Clock::time_point{}))
        log_.write(LogLevel::warning, "some of its queues do not exist");
    specs_ = std::move(specs);
    queues_.clear();
    for (Source& source : sources_) {
        std::vector<QueueId> queues;
        for (const QueueId id : ids) {
            const auto spec = specs_.find(id);
            if (spec != specs_.end() && takes(source, *spec->second)) queues.push_back(id);
        }
        queues_.insert(queues_.end(), queues.begin(), queues.end());
        source.stream.set_queues(std::move(queues));
    }
    topics_.assign(queues_.begin(), queues_.end());
    refreshed_at_ = Clock::now();
}

// The options of workflows may be changed while the worker runs.
void Claimer::refresh_workflows(const Specs& specs) {
    std::unordered_map<QueueId, std::shared_ptr<const WorkflowInfo>> workflows;
    for (WorkflowInfo& info : backend_.workflows_named(names_)) {
        const QueueId queue = info.queue;
        if (specs.contains(queue))
            workflows.emplace(queue, std::make_shared<const WorkflowInfo>(std::move(info)));
    }
    workflows_ = std::move(workflows);
}

// A queue that was created later, or again, may carry something that the worker does not handle.
bool Claimer::can_handle(QueueId queue, const HandlerSpec& spec) const {
    const auto workflow = workflows_.find(queue);
    if (workflow == workflows_.end()) return !spec.flow;
    return workflow->second->is_flow ? spec.flow != nullptr : static_cast<bool>(spec.workflow);
}

std::shared_ptr<const WorkflowInfo> Claimer::workflow_of(QueueId queue, const HandlerSpec& spec) {
    auto& info = workflows_[queue];
    if (info) return info;
    // Created between two refreshes: the defaults apply until the next one.
    WorkflowInfo defaults;
    defaults.queue = queue;
    defaults.name = spec.queue;
    defaults.backoff_base = model::rules::default_backoff_base;
    defaults.backoff_cap = model::rules::default_backoff_cap;
    return info = std::make_shared<const WorkflowInfo>(std::move(defaults));
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
    round_.emplace();
    const auto end_round = [&] {
        hand_back_late(Clock::time_point::max());
        round_.reset();
    };
    int count = 0;
    try {
        do {
            count += claim_once(seam::Scan::exact, {});
            suspects_.execute_due({});
            hand_back_late(Clock::now());
        } while (more_ && round_->late.size() < max_late);
    } catch (...) {
        end_round();
        throw;
    }
    end_round();
    return count;
}

void Claimer::hold_late(Calls calls, Clock::time_point asked_at) {
    for (auto& call : calls) {
        const auto until = asked_at + SuspectPolicy::hold_time(call->claimed_lease());
        round_->late.push_back({std::move(call), until});
    }
}

void Claimer::hand_back_late(Clock::time_point now) {
    Calls calls;
    std::erase_if(round_->late, [&](Late& late) {
        const bool over = late.until <= now;
        if (over) calls.push_back(std::move(late.call));
        return over;
    });
    hand_back(committer_, leases_, calls);
}

Claimer::Clock::time_point Claimer::next_check() const {
    auto next = suspects_.next_check();
    if (!round_) return next;
    for (const Late& late : round_->late) next = std::min(next, late.until);
    return next;
}

bool Claimer::note_in_round(const seam::Claim& claim) {
    if (!round_->began) round_->began = claim.now;
    bool found_ready = false;
    for (const Message& message : claim.messages) {
        const bool first = round_->claimed.insert(message.id).second;
        if (first && message.enqueued_at <= *round_->began) found_ready = true;
    }
    return found_ready;
}

// The first source may use all of the room; the others get what it leaves. The first one rotates.
int Claimer::claim_once(seam::Scan scan, const std::stop_token& stop) {
    int room = executor_.wait_for_room(stop, next_check());
    more_ = true;
    if (room == 0 || (paused_ && scan == seam::Scan::streaming)) return 0;
    retry_in_round([&] {
        refresh_queues();
        fail_unhandled();
    });
    more_ = false;
    due_at_ = Clock::time_point::max();
    int count = 0;
    const std::size_t first = turn_++;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (room <= 0) more_ = true;
        if (room <= 0 || stop.stop_requested()) break;
        const Taken taken = claim_from(sources_[(first + i) % sources_.size()], room, scan, stop);
        count += taken.messages;
        room -= taken.calls;
    }
    return count;
}

Claimer::Taken Claimer::claim_from(
    Source& source, int room, seam::Scan scan, const std::stop_token& stop
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
    const bool late = round_ && !claim.messages.empty() && !note_in_round(claim);
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
        if (late) hold_late(std::move(calls), asked_at);
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
        const HandlerSpec* const spec = specs_.at(claim.queues[i]);
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
                workflow_of(claim.queues[i], *spec)
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
    for (const Lease& lease : backend_.leases_of(worker_, queues_)) {
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
        const auto spec = specs_.find(poisoned.queue);
        if (spec != specs_.end()) log_.poisoned(*spec->second, poisoned.message, poisoned.reason);
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
    backend_.wake_hub().wait(ticket, topics_, until, stop);
}

}  // namespace pawl::runtime
