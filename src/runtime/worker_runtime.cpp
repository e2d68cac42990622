#include "runtime/worker_runtime.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <set>
#include <unistd.h>

#include "runtime/signals.h"

namespace pawl::runtime {

using store::settle_write;
using store::Write;
using store::WriteKind;
using store::WriteOutcome;

namespace {

using Clock = std::chrono::steady_clock;

std::string host_name() {
    std::array<char, 256> name{};
    gethostname(name.data(), name.size() - 1);
    return name.data();
}

}  // namespace

WorkerRuntime::WorkerRuntime(std::shared_ptr<store::Backend> backend, WorkerOptions options)
    : backend_(std::move(backend)), options_(std::move(options)) {
    const auto queues = backend_->queues();
    check(queues, backend_->workflows(std::nullopt));
    lease_ = shortest_lease(queues);
    beat_interval_ = std::max<Duration>(
        std::min(options_.heartbeat.value_or(backend_->options().heartbeat), lease_ / 3), 1ms
    );
    id_ = backend_->register_worker(description(lease_));
    committer_ = std::make_unique<Committer>(*backend_);
    executor_ = std::make_unique<Executor>(options_, *committer_, leases_, *backend_);
    claimer_ = std::make_unique<Claimer>(*backend_, options_, id_, *executor_, leases_);
    heartbeat_ = std::make_unique<Heartbeat>(
        *backend_,
        id_,
        beat_interval_,
        leases_,
        Heartbeat::Hooks{
            [this] { hand_back_stale(); }, [this](WorkerStatus stored) { obey(stored); }}
    );
    // A run that was cancelled elsewhere: the heartbeat finds out which of ours it is.
    observation_ =
        std::make_unique<base::RunSignals::Observation>(backend_->run_signals(), [this](RunId run) {
            if (leases_.holds(MessageId(run.value()))) heartbeat_->beat_now();
        });
}

store::NewWorker WorkerRuntime::description(Duration lease) const {
    store::NewWorker worker{options_.name, host_name(), options_.port, getpid(), lease, {}, {}};
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
        backend_->log().error(
            fmt::format("worker '{}' did not stop well: {}", options_.name, error.what())
        );
    }
    committer_->stop();  // nobody shall wait for a commit that may never come
}

void WorkerRuntime::refuse(ErrorCode code, const std::string& what) const {
    throw Error(code, fmt::format("worker '{}': {}", options_.name, what));
}

void WorkerRuntime::check(
    const std::vector<QueueInfo>& queues, const std::vector<WorkflowInfo>& workflows
) const {
    if (options_.name.empty()) throw Error(ErrorCode::invalid_argument, "a worker needs a name");
    if (options_.handlers.empty() && options_.prefixes.empty())
        refuse(
            ErrorCode::invalid_argument,
            "it has no handler: call handle(), on_message() or on_batch()"
        );
    if (options_.concurrency < 1 || options_.concurrency > 10'000)
        refuse(ErrorCode::invalid_argument, "concurrency must be 1 to 10000");
    if (options_.lease && *options_.lease < 10ms)
        refuse(ErrorCode::invalid_argument, "lease must be at least 10 ms");
    if (options_.poll_interval < 10ms)
        refuse(ErrorCode::invalid_argument, "poll_interval must be at least 10 ms");
    if (options_.backoff_base < Duration::zero() || options_.backoff_cap < options_.backoff_base)
        refuse(ErrorCode::invalid_argument, "backoff: 0 <= base <= cap must hold");
    std::set<std::string> names;
    for (const HandlerSpec& spec : options_.handlers) {
        if (!names.insert(spec.queue).second)
            refuse(
                ErrorCode::invalid_argument,
                fmt::format(
                    "two handlers for {} '{}'", spec.workflow ? "workflow" : "queue", spec.queue
                )
            );
        check_handler(spec, queues, workflows);
    }
    if (!backend_->options().accept_test_clock && backend_->has_test_clock())
        refuse(
            ErrorCode::test_clock,
            "the store's clock is replaced by a test clock; set ConnectOptions::accept_test_clock "
            "in tests"
        );
}

void WorkerRuntime::check_handler(
    const HandlerSpec& spec,
    const std::vector<QueueInfo>& queues,
    const std::vector<WorkflowInfo>& workflows
) const {
    const auto workflow = std::ranges::find(workflows, spec.queue, &WorkflowInfo::name);
    if (spec.workflow) {
        // Below a prefix it may be created later.
        if (workflow == workflows.end() && options_.prefixes.empty())
            refuse(
                ErrorCode::workflow_not_found,
                fmt::format(
                    "workflow '{}' does not exist: call store.create_workflow() first", spec.queue
                )
            );
        return;
    }
    if (spec.batch_size < 1 || spec.batch_size > 10'000)
        refuse(ErrorCode::invalid_argument, "batch_size must be 1 to 10000");
    if (!spec.handler)
        refuse(
            ErrorCode::invalid_argument, fmt::format("empty handler for queue '{}'", spec.queue)
        );
    if (workflow != workflows.end())
        refuse(
            ErrorCode::workflow_queue,
            fmt::format("queue '{}' belongs to a workflow: use handle()", spec.queue)
        );
    if (std::ranges::find(queues, spec.queue, &QueueInfo::name) == queues.end())
        refuse(
            ErrorCode::queue_not_found,
            fmt::format("queue '{}' does not exist: create it first", spec.queue)
        );
}

Duration WorkerRuntime::shortest_lease(const std::vector<QueueInfo>& queues) const {
    if (options_.lease) return *options_.lease;
    Duration shortest = backend_->options().lease;
    for (const QueueInfo& queue : queues) {
        const bool ours = std::ranges::find(options_.handlers, queue.name, &HandlerSpec::queue) !=
                          options_.handlers.end();
        if (ours && queue.lease) shortest = std::min(shortest, *queue.lease);
    }
    return shortest;
}

WorkerStatus WorkerRuntime::status() {
    const std::lock_guard lock(mutex_);
    return status_;
}

void WorkerRuntime::set_status(WorkerStatus status) {
    {
        const std::lock_guard lock(mutex_);
        status_ = status;
    }
    changed_.notify_all();
}

WorkerStatus WorkerRuntime::transition(WorkerEvent event) {
    const WorkerStatus status = backend_->transition_worker(id_, event);
    set_status(status);
    return status;
}

void WorkerRuntime::start() {
    transition(WorkerEvent::start_polling);
    started_ = true;
    claimer_->start();
    claimer_->resume();
}

void WorkerRuntime::poll_forever() {
    start();
    const auto ended = [&] {
        return status_ == WorkerStatus::stopped || status_ == WorkerStatus::interrupted || stopped_;
    };
    {
        std::unique_lock lock(mutex_);
        while (!ended() && !(signals_ && termination_requested())) {
            if (!signals_) {
                changed_.wait(lock, ended);
                continue;
            }
            // A signal ends this wait at once; a stop by other means is seen a moment later.
            lock.unlock();
            wait_for_termination(100ms);
            lock.lock();
        }
    }
    if (status() == WorkerStatus::interrupted) {
        claimer_->stop();
        executor_->wait_until_idle(Clock::now() + std::chrono::years(1));
        committer_->flush(Clock::now() + backend_->options().retry_timeout);
        return;
    }
    stop(10s);
}

int WorkerRuntime::poll_once() {
    transition(WorkerEvent::start_polling);
    const int count = claimer_->claim_once(store::Scan::exact, {});
    executor_->wait_until_idle(Clock::now() + std::chrono::years(1));
    committer_->flush(Clock::now() + backend_->options().retry_timeout);
    transition(WorkerEvent::poll_done);
    return count;
}

int WorkerRuntime::hand_back(std::vector<std::shared_ptr<Executing>> unstarted) {
    std::vector<Write> writes;
    for (const auto& executing : unstarted) {
        for (const Message& message : executing->messages)
            writes.push_back(settle_write(WriteKind::hand_back, message.lease()));
    }
    const int count = static_cast<int>(writes.size());
    committer_->submit(
        std::move(writes),
        [this](std::span<const Write> settled, std::span<const WriteOutcome>) {
            leases_.forget(settled);
        }
    );
    return count;
}

// What was fetched ahead and waits behind slow handlers: others may have a free thread for it. Its
// lease is not extended, so it must go before the lease ends.
void WorkerRuntime::hand_back_stale() {
    const int count = hand_back(executor_->take_unstarted(Clock::now() - lease_ / 2));
    if (count > 0)
        backend_->log().info(fmt::format("{} messages that could not be started go back", count));
}

StopReport WorkerRuntime::stop(Duration deadline) {
    const std::lock_guard only_one(stop_mutex_);
    if (stopped_) return stop_report_;
    const auto until = Clock::now() + deadline;
    stopping_ = true;
    claimer_->stop();
    stop_report_.handed_back = hand_back(executor_->take_unstarted());
    if (!executor_->wait_until_idle(until)) {
        // C++ code cannot be killed from outside: ask it to end, give its leases back so that
        // others go on at once, and fence off what it may still report.
        std::vector<Write> writes;
        const auto stuck = executor_->abandon();
        for (const auto& executing : stuck) {
            for (const Message& message : executing->messages)
                writes.push_back(settle_write(WriteKind::release, message.lease()));
        }
        stop_report_.stuck = static_cast<int>(stuck.size());
        committer_->submit(std::move(writes), {});
    }
    committer_->flush(std::max(until, Clock::now() + 1s));
    heartbeat_->stop();
    claimer_->stop();  // where a heartbeat had just resumed it
    try {
        transition(WorkerEvent::stop);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::invalid_transition &&
            error.code() != ErrorCode::worker_not_found)
            backend_->log().warning(
                fmt::format("worker '{}' shows as lost: {}", options_.name, error.what())
            );
    }
    {
        const std::lock_guard lock(mutex_);
        stopped_ = true;
        status_ = WorkerStatus::stopped;
    }
    changed_.notify_all();
    return stop_report_;
}

void WorkerRuntime::interrupt() {
    transition(WorkerEvent::interrupt);
    claimer_->pause();
}

void WorkerRuntime::suspend() {
    transition(WorkerEvent::suspend);
    claimer_->pause();
}

void WorkerRuntime::resume() {
    transition(WorkerEvent::resume);
    if (started_) start();
}

// What an operator has changed in the store.
void WorkerRuntime::obey(WorkerStatus stored) {
    if (stored == status()) return;
    switch (stored) {
        case WorkerStatus::ready:
            if (started_ && !stopping_) start();  // resumed
            break;
        case WorkerStatus::polling:
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
    catch_termination_signals();
    const std::lock_guard lock(mutex_);
    signals_ = true;
}

}  // namespace pawl::runtime
