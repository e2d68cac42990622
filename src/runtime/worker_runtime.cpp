#include "runtime/worker_runtime.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <unistd.h>

#include "base/deadline.h"
#include "engine/reconnect.h"
#include "model/check_outbox.h"
#include "model/flow.h"
#include "model/rules.h"
#include "runtime/validate_worker.h"

namespace pawl::runtime {

using engine::retrying;
using seam::Write;
using seam::WriteOutcome;

namespace {

using Clock = std::chrono::steady_clock;

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

}  // namespace

WorkerRuntime::WorkerRuntime(
    std::shared_ptr<seam::Engine> backend, WorkerOptions options, const OpenMetrics& open
)
    : backend_(std::move(backend)),
      options_(std::move(options)),
      memory_services_(backend_->log()),
      database_services_(backend_->log()) {
    const auto queues = retrying(*backend_, [&] { return backend_->queues(); });
    const auto flows = retrying(*backend_, [&] { return shapes_of(*backend_, options_); });
    const auto workflows = retrying(*backend_, [&] { return backend_->workflows(std::nullopt); });
    retrying(*backend_, [&] { check_worker(options_, *backend_, {queues, workflows, flows}); });
    const Duration lease = shortest_lease(queues);
    const Duration beat_interval = std::max<Duration>(
        std::min(options_.heartbeat.value_or(backend_->options().heartbeat), lease / 3), 1ms
    );
    if (options_.outbox_sink) model::check_dispatcher_options(options_.dispatcher);
    if (options_.metrics) {
        // Before the worker registers, because the port may be in use.
        meters_ = std::make_shared<WorkerMeters>(options_);
        endpoint_ = open(options_, meters_);
    }
    description_ = description(lease);
    view_.still_held = [this](const Lease& held) {
        return leases_.knows(held) && !leases_.lost(held);
    };
    id_ = register_with_store();
    log_ = std::make_unique<WorkLog>(backend_->log(), id_, options_.name, queues);
    committer_ = std::make_unique<Committer>(*backend_, meters_.get());
    executor_ = std::make_unique<Executor>(
        options_, *committer_, leases_, *backend_, memory_services_, meters_.get()
    );
    claimer_ = std::make_unique<Claimer>(
        *backend_,
        options_,
        id_,
        Claimer::Parts{*executor_, *committer_, leases_, meters_.get(), *log_}
    );
    heartbeat_ = std::make_unique<Heartbeat>(
        *backend_,
        id_,
        beat_interval,
        leases_,
        Heartbeat::Hooks{
            [this] { prepare_beat(); },
            [this](WorkerStatus stored) { apply_stored_status(stored); },
            [this](WorkerId missing, std::string_view why) { register_again(missing, why); },
            [this] { return has_news(); },
            [this] { claimer_->assume_stale_liveness(); }}
    );
    expiry_ = std::make_unique<LeaseExpiry>(memory_services_, leases_);
    if (options_.housekeeping) scheduler_ = std::make_unique<Scheduler>(*backend_);
    if (options_.housekeeping && backend_->options().prune_interval > Duration::zero())
        pruner_ = std::make_unique<Pruner>(*backend_, [this] { return !leases_.empty(); });
    if (options_.outbox_sink)
        dispatcher_ = std::make_unique<OutboxDispatcher>(
            backend_, options_.outbox_sink, options_.dispatcher, meters_.get()
        );
    // A run was cancelled by another process: the heartbeat finds out which lease is lost.
    observation_ =
        std::make_unique<seam::RunWakeups::Observation>(backend_->run_wakeups(), [this](RunId run) {
            if (!run) return heartbeat_->check_now();
            if (leases_.holds(run)) heartbeat_->beat_now();
        });
}

void WorkerRuntime::prepare_beat() {
    hand_back_stale();
    log_->flush();
    changes_before_beat_ = status_changes_;
}

bool WorkerRuntime::has_news() {
    view_.worker = id_;
    view_.status = status();
    view_.held = leases_.held();
    return backend_->has_news(view_);
}

seam::NewWorker WorkerRuntime::description(Duration lease) const {
    seam::NewWorker worker{options_.name, host_name(), options_.port, getpid(), lease, {}, {}};
    for (const HandlerSpec& spec : options_.handlers) worker.handlers.push_back(spec.queue);
    worker.subscriptions = options_.prefixes;
    if (options_.prefixes.empty()) worker.subscriptions = worker.handlers;
    return worker;
}

WorkerRuntime::~WorkerRuntime() {
    observation_.reset();
    try {
        stop(Duration::zero());
    } catch (const std::exception& error) {
        log_->write(LogLevel::error, fmt::format("stop failed: {}", error.what()));
    }
    committer_->stop();  // no thread may wait for a commit that may never happen
    // Their threads belong to the worker, which cannot be destroyed before they end.
    wait_for_handlers(100ms);
}

Duration WorkerRuntime::shortest_lease(const std::vector<QueueInfo>& queues) const {
    Duration shortest = options_.lease.value_or(backend_->options().lease);
    for (const QueueInfo& queue : queues) {
        const bool ours = std::ranges::find(options_.handlers, queue.name, &HandlerSpec::queue) !=
                          options_.handlers.end();
        if (ours && queue.lease && !options_.lease) shortest = std::min(shortest, *queue.lease);
    }
    return shortest;
}

WorkerStatus WorkerRuntime::status() {
    const std::lock_guard lock(mutex_);
    return status_;
}

int WorkerRuntime::metrics_port() {
    const std::lock_guard lock(mutex_);
    return endpoint_ ? endpoint_->port() : 0;
}

void WorkerRuntime::set_status(WorkerStatus status) {
    {
        const std::lock_guard lock(mutex_);
        status_ = status;
        ++status_changes_;
    }
    changed_.notify_all();
}

void WorkerRuntime::start() {
    transition(WorkerEvent::start_polling);
    if (!started_.exchange(true)) log_start();
    claimer_->start();
    claimer_->resume();
    if (scheduler_) scheduler_->start(database_services_);
    if (pruner_) pruner_->start(database_services_);
    if (dispatcher_) dispatcher_->start();
}

void WorkerRuntime::stop_taking() {
    if (scheduler_) scheduler_->stop();
    if (pruner_) pruner_->stop();
    if (dispatcher_) dispatcher_->request_stop();
    claimer_->stop();
}

void WorkerRuntime::poll_forever() {
    start();
    const auto ended = [&] {
        return status_ == WorkerStatus::stopped || status_ == WorkerStatus::interrupted || stopped_;
    };
    {
        std::unique_lock lock(mutex_);
        while (!ended() && !(signals_ && signals_->arrived())) {
            if (!signals_) {
                changed_.wait(lock, ended);
                continue;
            }
            // A signal ends this wait immediately; a stop by other means is noticed a moment later.
            const auto signals = signals_;
            lock.unlock();
            signals->wait(100ms);
            lock.lock();
        }
    }
    if (signal_arrived())
        log_->write(
            LogLevel::info, "signal received, draining; a second one ends the process immediately"
        );
    if (status() == WorkerStatus::interrupted) {
        log_->write(LogLevel::info, "interrupted, draining");
        stop_taking();
        claimer_->hand_back_suspects();
        wait_for_handlers(1s);
        committer_->flush(base::deadline_after(backend_->options().retry_timeout));
        if (dispatcher_) dispatcher_->stop();
        restore_signals();
        return;
    }
    stop(10s);
}

int WorkerRuntime::poll_once() {
    const std::lock_guard only_one(poll_mutex_);
    if (started_)
        throw Error(
            ErrorCode::invalid_transition,
            fmt::format("worker '{}' is started and already polls", options_.name)
        );
    transition(WorkerEvent::start_polling);
    if (scheduler_) retrying(*backend_, [&] { return scheduler_->fire_due(); });
    int count = 0;
    for (bool all = false; !all;) {
        count += claimer_->claim_ready();
        while (!executor_->wait_until_idle(claimer_->next_check()))
            claimer_->execute_due_suspects();
        claimer_->finish_suspects();
        wait_for_handlers(30s);
        committer_->flush(base::deadline_after(backend_->options().retry_timeout));
        // Suspects that were handed back for another one are claimed again in the next round.
        const int handed_back = claimer_->take_handed_back();
        count -= handed_back;
        all = handed_back == 0;
    }
    if (dispatcher_) dispatcher_->dispatch_once();
    if (pruner_) retrying(*backend_, [&] { return pruner_->run_batch(); });
    transition(WorkerEvent::poll_done);
    return count;
}

// Hands back calls that were fetched ahead and wait for slow handlers: other workers may have a
// free thread. Their leases are not extended, so this must happen before they end.
void WorkerRuntime::hand_back_stale() {
    const auto stale = executor_->take_unstarted(Clock::now());
    const int count = hand_back(*committer_, leases_, stale);
    if (count > 0)
        log_->write(
            LogLevel::info, fmt::format("handed back {} messages: all threads are busy", count)
        );
}

// C++ code cannot be killed from outside: requests it to stop, releases its leases so that other
// workers continue immediately, and fences off its later reports.
void WorkerRuntime::abandon_stuck_handlers() {
    std::vector<Write> writes;
    const auto stuck = executor_->abandon();
    for (const auto& call : stuck) {
        if (call->dropped) continue;
        for (const Message& message : call->messages())
            writes.push_back({message.lease(), seam::Release{}});
    }
    stop_report_.stuck = static_cast<int>(stuck.size());
    for (const std::string& line : executor_->describe_running())
        log_->write(LogLevel::warning, "abandoned at the stop's deadline: " + line);
    committer_->submit(std::move(writes), {});
}

StopReport WorkerRuntime::stop(Duration deadline) {
    const std::lock_guard only_one(stop_mutex_);
    if (stopped_) return stop_report_;
    const auto until = base::deadline_after(deadline);
    if (started_) log_drain(deadline);
    stopping_ = true;
    stop_taking();
    stop_report_.handed_back = hand_back(*committer_, leases_, executor_->take_unstarted()) +
                               claimer_->hand_back_suspects();
    if (!executor_->wait_until_idle(until)) abandon_stuck_handlers();
    committer_->flush(std::max(until, Clock::now() + 1s));
    heartbeat_->stop();
    expiry_->stop();
    stop_taking();  // a heartbeat may have just resumed it
    if (dispatcher_) dispatcher_->stop();
    try {
        set_status(backend_->transition_worker(id_, WorkerEvent::stop));  // no retries
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_transition &&
            error.code() != ErrorCode::worker_not_found)
            log_->write(
                LogLevel::warning,
                fmt::format(
                    "cannot record the stop, the worker will be shown as lost: {}", error.what()
                )
            );
    }
    std::unique_ptr<MetricsEndpoint> closed;
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        status_ = WorkerStatus::stopped;
        closed = std::move(endpoint_);
    }
    closed.reset();  // outside of the lock, because a scrape may be running
    changed_.notify_all();
    restore_signals();
    log_->flush();
    if (started_)
        log_->write(
            stop_report_.stuck > 0 ? LogLevel::warning : LogLevel::info,
            fmt::format(
                "stopped, {} messages handed back, {} handlers still running",
                stop_report_.handed_back,
                stop_report_.stuck
            )
        );
    return stop_report_;
}

void WorkerRuntime::interrupt() {
    pause_for(WorkerEvent::interrupt);
}

void WorkerRuntime::suspend() {
    pause_for(WorkerEvent::suspend);
}

// Pauses before the write, which may take long while the database is away.
void WorkerRuntime::pause_for(WorkerEvent event) {
    claimer_->pause();
    try {
        transition(event);
    } catch (...) {
        if (status() == WorkerStatus::polling) claimer_->resume();
        throw;
    }
}

void WorkerRuntime::resume() {
    transition(WorkerEvent::resume);
    if (started_) start();
}

// Applies a status that an operator has set in the store.
void WorkerRuntime::apply_stored_status(WorkerStatus stored) {
    if (stored == status()) return;
    // The answer may be older than a change by this process; the next heartbeat has the new status.
    if (status_changes_ != changes_before_beat_) return;
    switch (stored) {
        case WorkerStatus::ready:
            if (started_ && !stopping_) start();  // resumed
            break;
        case WorkerStatus::polling:  // an outdated answer had paused the worker
            if (!started_ || stopping_) break;
            set_status(stored);
            claimer_->resume();
            break;
        case WorkerStatus::interrupted:
        case WorkerStatus::suspended:
        case WorkerStatus::stopped:
            claimer_->pause();
            set_status(stored);
            break;
    }
}

void WorkerRuntime::handle_signals() {
    const std::lock_guard lock(mutex_);
    if (!signals_ && !stopped_) signals_ = std::make_shared<CaughtSignals>();
}

}  // namespace pawl::runtime
