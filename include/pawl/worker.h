// A worker: threads that claim messages, runs and tasks, execute handlers, and report.
//
//   auto worker = pawl::worker("worker-1")
//                     .on_message("mail", [](const Mail& mail) { send(mail); })
//                     .handle("order", handle_order)
//                     .concurrency(64)
//                     .create(store);
//   worker.start();      // or worker.handle_signals(); worker.poll_forever();
//
// A process may have several workers, and a store any number of workers in any number of processes.
// Handlers run concurrently, so they must be safe to call from several threads.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <pawl/callable.h>
#include <pawl/context.h>
#include <pawl/discovery.h>
#include <pawl/export.h>
#include <pawl/flow.h>
#include <pawl/message_handler.h>
#include <pawl/outbox.h>
#include <pawl/store.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::runtime {
class WorkerRuntime;
}

namespace pawl::inline v0 {

/// The result of Worker::stop(): what it could not finish.
struct StopReport {
    int stuck = 0;        ///< handlers still running at the deadline; their threads end later
    int handed_back = 0;  ///< messages given back unstarted
};

/// A registered worker. It can be moved, not copied, and keeps the store open. Its member functions
/// may be called from any thread; stop(), interrupt(), suspend() and resume() also from its
/// handlers, but a handler that calls stop() is counted as stuck, because stop() waits for it. A
/// worker that was moved from can only be assigned to or destroyed.
class PAWL_EXPORT Worker {
public:
    /// @{
    /// Moves the handle; the worker continues.
    Worker(Worker&&) noexcept;
    Worker& operator=(Worker&&) noexcept;
    /// @}

    /// Calls stop(0s) unless the worker has stopped, then waits for handlers that still run,
    /// because their threads belong to the worker. A body that never returns blocks it; it logs
    /// which one.
    ~Worker();

    /// The id in the store. It changes if the row was purged while the worker was disconnected: the
    /// worker then drops its leases and registers again.
    [[nodiscard]] WorkerId id() const;
    [[nodiscard]] WorkerStatus status() const;  ///< as the worker knows it; no I/O
    /// The port of its metrics; 0 if it has none, and after stop().
    [[nodiscard]] int metrics_port() const;
    /// Starts the threads and returns. While the database is away the worker keeps trying, and logs
    /// it. Throws invalid_transition if the worker is suspended, was interrupted or has stopped.
    void start();
    /// start(), then blocks until stop(), interrupt() or a handled signal, and drains.
    void poll_forever();
    /// Claims everything that is ready now, executes it, `concurrency` items at a time, and returns
    /// how many. Items that arrive meanwhile may be included, but do not prolong the call. Retries
    /// while the database is away. Throws invalid_transition if the worker was started, and
    /// connection_failed or busy after ConnectOptions::retry_timeout.
    int poll_once();
    /// Stops claiming, waits up to `deadline` for the handlers, and gives unstarted work back.
    /// Idempotent; legal before start(). A database that does not answer may delay it by a few
    /// times ConnectOptions::call_timeout. Duration::max() means no limit.
    StopReport stop(Duration deadline = std::chrono::seconds(10));
    /// @{
    /// interrupt() and suspend() stop claiming, then write the new status to the store; resume()
    /// writes it and then claims again. They block until the database has answered, and retry for
    /// ConnectOptions::retry_timeout while it is away. If they throw, the status has not changed
    /// and the worker claims as before; after an Error with in_doubt() it may have changed, and the
    /// worker follows the store at its next heartbeat. Throws invalid_transition if the status does
    /// not allow it.
    void interrupt();  ///< stops claiming; poll_forever() returns when running handlers have ended
    void suspend();    ///< claims nothing until resume(); running handlers continue
    void resume();     ///< ends a suspend()
    /// @}

    /// SIGINT and SIGTERM end poll_forever() with a drain. A second signal ends the process
    /// immediately, with the signal's default action; its leases then expire. When the last worker
    /// that handles signals has ended, the previous signal handlers are restored. Opt-in; in a
    /// process with several workers call it for each (or use pawl::poll_forever).
    void handle_signals();

private:
    friend struct detail::Access;
    explicit Worker(std::shared_ptr<runtime::WorkerRuntime> runtime);
    std::shared_ptr<runtime::WorkerRuntime> runtime_;
};

/// handle_signals() and poll_forever() for several workers, of any stores, concurrently. Returns
/// when all have ended; a signal drains all of them. If one throws, the others are stopped and the
/// exception is rethrown.
PAWL_EXPORT void poll_forever(std::span<Worker> workers);

/// The handler of one queue, workflow or flow, as WorkerBuilder collects it. One of the last three
/// is set.
struct HandlerSpec {
    std::string queue;   ///< or the workflow, or the flow
    int batch_size = 1;  ///< messages per call
    Handler handler = {};
    WorkflowHandler workflow = {};
    std::shared_ptr<const FlowHandlers> flow = {};
};

/// Where a worker's metrics can be scraped: http://address:port/metrics, in Prometheus' text
/// format.
struct MetricsOptions {
    int port = 0;                       ///< 0 means any free port: see Worker::metrics_port()
    std::string address = "127.0.0.1";  ///< numeric; "0.0.0.0" accepts connections from other hosts
    /// How old figures from the database (queue depths, lag) may be. A slow database is queried
    /// less often. 0 means at each scrape.
    Duration refresh = std::chrono::seconds(5);
};

namespace detail {
struct MetricsLibrary;
// In the library pawl::metrics: a program that calls WorkerBuilder::metrics() links it.
PAWL_EXPORT const MetricsLibrary& metrics_library();
}  // namespace detail

/// The options of a worker, which WorkerBuilder sets. docs/configuration.md has them as a table.
struct WorkerOptions {
    std::string name;      ///< a label for people; two workers may share it
    int port = 0;          ///< shown to operators; nothing listens there
    int concurrency = 16;  ///< handlers at a time; threads are created when they are needed
    /// A run gives its thread to another run while a step is committed: much cheaper if steps are
    /// short. The function may resume on another thread, so nothing that belongs to a thread (a
    /// held mutex, a reference to a thread_local) may be kept across a step. See docs/workflows.md.
    bool share_threads = false;
    std::optional<Duration> lease;                    ///< default: each queue's
    std::optional<Duration> heartbeat;                ///< default: the store's
    std::optional<Duration> poll_interval;            ///< default: the store's
    Duration backoff_base = std::chrono::seconds(1);  ///< for failed messages of queues
    Duration backoff_cap = std::chrono::minutes(5);   ///< the longest of these waits
    std::vector<HandlerSpec> handlers;
    /// Restricts the worker to workflows whose names start with one of these prefixes. A run
    /// of such a workflow fails if no live worker has a handler for it. Default: the environment
    /// variable PAWL_WORKER_PREFIXES ("billing.,media."), else no restriction.
    std::vector<std::string> prefixes;
    /// Fires schedules and prunes. Any number of workers of a store may do so.
    bool housekeeping = true;
    Sink outbox_sink = {};              ///< if set, the worker also dispatches the store's outbox
    DispatcherOptions dispatcher = {};  ///< for outbox_sink
    std::optional<MetricsOptions> metrics = {};  ///< default: no metrics
    std::vector<std::string> discover;  ///< prefixes of discovered workflows to create and handle
};

/// Collects the handlers and options of a worker. It is a value: copy it, keep it, create several
/// workers (see pawl.h for its thread safety). Only create() does I/O, and wrong options are
/// reported there. A setter changes a named builder in place and moves a temporary one.
///
/// A handler is any callable: a function, a lambda (also noexcept or mutable), std::function,
/// std::bind_front(&Service::work, &service). It is kept as long as the builder and its workers; a
/// move-only one is shared by the copies of the builder. Types of arguments are deduced. If that is
/// impossible, as for a generic lambda, name them: handle<Params>(name, [](auto& ctx, auto p)
/// {...}). Wrong arguments, and types without a JSON form, do not compile.
class PAWL_EXPORT WorkerBuilder {
public:
    /// The name is a label: two workers may share it.
    explicit WorkerBuilder(std::string_view name) { options_.name = name; }

    /// @{
    /// The handler of a queue. It takes (const T&), (HandlerContext&, const T&), (const Message&)
    /// or (HandlerContext&); T is the type of the payload and needs <pawl/json.h>. HandlerContext
    /// has the message's id, delivery and queue, and the stop_token.
    ///
    /// If the handler returns, the message is archived (deleted if the queue keeps no archive), and
    /// its result is ignored. If it throws, the message is delivered again after a backoff; after a
    /// PermanentError it becomes a dead letter. So does a message whose payload is not a T.
    template <class T = detail::Deduced, class F>
    WorkerBuilder& on_message(std::string_view queue, F handler) & {
        return add(queue, 1, detail::make_message_handler<T>(std::move(handler)));
    }
    template <class T = detail::Deduced, class F>
    WorkerBuilder on_message(std::string_view queue, F handler) && {
        return std::move(this->template on_message<T>(queue, std::move(handler)));
    }
    /// @}

    /// @{
    /// Takes up to `batch_size` (1 to 10,000) messages at a time: (std::span<const Message>) or
    /// (HandlerContext&). An exception fails the whole batch; HandlerContext can release or fail
    /// single messages.
    template <class F>
    WorkerBuilder& on_batch(std::string_view queue, int batch_size, F handler) & {
        return add(queue, batch_size, detail::make_batch_handler(std::move(handler)));
    }
    template <class F>
    WorkerBuilder on_batch(std::string_view queue, int batch_size, F handler) && {
        return std::move(on_batch(queue, batch_size, std::move(handler)));
    }
    /// @}

    /// @{
    /// The function of a workflow: (Context&, P), (Context&, const P&) or (Context&). It returns
    /// void or anything that has a JSON form: see make_workflow_handler().
    template <class P = detail::Deduced, class F>
    WorkerBuilder& handle(std::string_view workflow, F function) & {
        auto handler =
            detail::make_handler<Context, P>(std::move(function), detail::DecodeRunInput{});
        options_.handlers.push_back({std::string(workflow), 1, {}, std::move(handler), {}});
        return *this;
    }
    template <class P = detail::Deduced, class F>
    WorkerBuilder handle(std::string_view workflow, F function) && {
        return std::move(this->template handle<P>(workflow, std::move(function)));
    }
    /// @}

    /// @{
    /// The function of a typed workflow: one that does not fit does not compile.
    template <class P, class R, class F>
    WorkerBuilder& handle(const Workflow<P, R>& workflow, F function) & {
        using Fits = detail::FitsWorkflow<Context, P, R, F>;
        static_assert(
            Fits::takes_params(),
            "pawl: the function does not fit the workflow: for pawl::Workflow<Params, Result> it "
            "takes (pawl::Context&, const Params&), for pawl::Workflow<void, Result> "
            "(pawl::Context&)"
        );
        static_assert(
            !Fits::takes_params() || Fits::returns_result(),
            "pawl: the function does not fit the workflow: what it returns does not convert to the "
            "Result of pawl::Workflow<Params, Result>"
        );
        if constexpr (Fits::returns_result())
            handle<std::conditional_t<std::is_void_v<P>, detail::Deduced, P>>(
                workflow.name(), detail::typed_function<Context, P, R>(std::move(function))
            );
        return *this;
    }
    template <class P, class R, class F>
    WorkerBuilder handle(const Workflow<P, R>& workflow, F function) && {
        return std::move(handle(workflow, std::move(function)));
    }
    /// @}

    /// @{
    /// The handlers of a flow's steps, or of some of them: the worker takes tasks of these steps
    /// only. create() refuses handlers of steps that the flow does not have.
    WorkerBuilder& flow(std::string_view slug, FlowHandlers handlers) & {
        options_.handlers.push_back(
            {std::string(slug),
             1,
             {},
             {},
             std::make_shared<const FlowHandlers>(std::move(handlers))}
        );
        return *this;
    }
    WorkerBuilder flow(std::string_view slug, FlowHandlers handlers) && {
        return std::move(flow(slug, std::move(handlers)));
    }
    /// @}

    /// @{
    /// The handlers that Flow::on() set.
    WorkerBuilder& flow(const Flow& flow) & {
        return this->flow(flow.shape().slug, flow.handlers());
    }
    WorkerBuilder flow(const Flow& flow) && { return std::move(this->flow(flow)); }
    /// @}

    /// @{
    /// Everything that PAWL_WORKFLOW registered under the prefix. create() creates the workflows
    /// too.
    WorkerBuilder& discover(std::string_view prefix = "") & {
        options_.discover.emplace_back(prefix);
        return *this;
    }
    WorkerBuilder discover(std::string_view prefix = "") && { return std::move(discover(prefix)); }
    /// @}

    /// @{
    /// Restricts the worker to workflows with this prefix, including those created later: see
    /// WorkerOptions::prefixes.
    WorkerBuilder& subscribe(std::string_view prefix) & {
        options_.prefixes.emplace_back(prefix);
        return *this;
    }
    WorkerBuilder subscribe(std::string_view prefix) && { return std::move(subscribe(prefix)); }
    /// @}

    // One setter per field of WorkerOptions.
    /// @{
    /// Sets the option of that name: see WorkerOptions.
    WorkerBuilder& port(int value) & { return set(&WorkerOptions::port, value); }
    WorkerBuilder port(int value) && { return std::move(port(value)); }
    WorkerBuilder& concurrency(int value) & { return set(&WorkerOptions::concurrency, value); }
    WorkerBuilder concurrency(int value) && { return std::move(concurrency(value)); }
    WorkerBuilder& share_threads(bool value = true) & {
        return set(&WorkerOptions::share_threads, value);
    }
    WorkerBuilder share_threads(bool value = true) && { return std::move(share_threads(value)); }
    WorkerBuilder& lease(Duration value) & { return set(&WorkerOptions::lease, value); }
    WorkerBuilder lease(Duration value) && { return std::move(lease(value)); }
    WorkerBuilder& heartbeat(Duration value) & { return set(&WorkerOptions::heartbeat, value); }
    WorkerBuilder heartbeat(Duration value) && { return std::move(heartbeat(value)); }
    WorkerBuilder& poll_interval(Duration value) & {
        return set(&WorkerOptions::poll_interval, value);
    }
    WorkerBuilder poll_interval(Duration value) && { return std::move(poll_interval(value)); }
    WorkerBuilder& housekeeping(bool value) & { return set(&WorkerOptions::housekeeping, value); }
    WorkerBuilder housekeeping(bool value) && { return std::move(housekeeping(value)); }
    /// @}

    /// @{
    /// Also delivers the store's outbox. The sink must not call the worker's stop().
    WorkerBuilder& dispatch(Sink sink, DispatcherOptions options = {}) & {
        options_.outbox_sink = std::move(sink);
        options_.dispatcher = options;
        return *this;
    }
    WorkerBuilder dispatch(Sink sink, DispatcherOptions options = {}) && {
        return std::move(dispatch(std::move(sink), options));
    }
    /// @}

    /// @{
    /// Serves metrics for Prometheus from create() to stop(). The program must link pawl::metrics.
    /// See docs/metrics.md.
    WorkerBuilder& metrics(MetricsOptions options) & {
        options_.metrics = std::move(options);
        metrics_library_ = &detail::metrics_library;
        return *this;
    }
    WorkerBuilder metrics(MetricsOptions options) && {
        return std::move(metrics(std::move(options)));
    }
    WorkerBuilder& metrics(int port, std::string_view address = "127.0.0.1") & {
        return metrics(MetricsOptions{port, std::string(address)});
    }
    WorkerBuilder metrics(int port, std::string_view address = "127.0.0.1") && {
        return std::move(metrics(port, address));
    }
    /// @}

    /// @{
    /// For failed messages of queues: the wait before the first retry, and the longest wait.
    WorkerBuilder& backoff(Duration base, Duration cap) & {
        options_.backoff_base = base;
        options_.backoff_cap = cap;
        return *this;
    }
    WorkerBuilder backoff(Duration base, Duration cap) && { return std::move(backoff(base, cap)); }
    /// @}

    /// Registers the worker with the store. Throws queue_not_found, workflow_not_found, test_clock,
    /// duplicate_workflow, invalid_argument; with metrics also listen_failed, and backend_missing
    /// if this build has no metrics.
    [[nodiscard]] Worker create(const Store& store) const;

private:
    template <class Member, class Value>
    WorkerBuilder& set(Member member, Value value) {
        options_.*member = std::move(value);
        return *this;
    }
    WorkerBuilder& add(std::string_view queue, int batch_size, Handler handler) {
        options_.handlers.push_back({std::string(queue), batch_size, std::move(handler), {}, {}});
        return *this;
    }

    WorkerOptions options_;
    const detail::MetricsLibrary& (*metrics_library_)() = nullptr;  // set by metrics()
};

/// Starts a builder: pawl::worker("worker-1").handle(...).create(store). Does no I/O.
[[nodiscard]] inline WorkerBuilder worker(std::string_view name) {
    return WorkerBuilder(name);
}

}  // namespace pawl::inline v0
