// A worker: threads that take messages and runs from queues, run handlers, and report.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <pawl/context.h>
#include <pawl/discovery.h>
#include <pawl/flow.h>
#include <pawl/outbox.h>
#include <pawl/store.h>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace pawl {

namespace runtime {
class MetricsEndpoint;
class WorkerRuntime;
class MessageCall;
struct WorkerMeters;
}  // namespace runtime

/// What a handler gets for the messages in its hands. Leases are extended while it runs.
class HandlerContext {
public:
    explicit HandlerContext(runtime::MessageCall& call) : call_(call) {}
    [[nodiscard]] std::span<const Message> messages() const;
    /// The first message: the only one, in a single handler.
    [[nodiscard]] const Message& message() const { return messages().front(); }
    /// Requested when all leases are lost or the worker's stop deadline has passed: results are
    /// fenced off from then on, so a long handler does well to look.
    [[nodiscard]] std::stop_token stop_token() const;
    /// True when the message was handed to somebody else meanwhile.
    [[nodiscard]] bool lease_lost(const Message& message) const;
    /// In a batch handler: gives one message back, or fails it, while the others are archived.
    void release(const Message& message, Duration delay = {});
    void fail(const Message& message, const std::string& error);

private:
    runtime::MessageCall& call_;
};

using Handler = std::function<void(HandlerContext&)>;

/// What stop() could not finish.
struct StopReport {
    int stuck = 0;  ///< handlers still running when the deadline came; their threads end later
    int handed_back = 0;  ///< messages given back unstarted
};

class Worker {
public:
    explicit Worker(std::shared_ptr<runtime::WorkerRuntime> runtime);
    Worker(Worker&&) noexcept;
    Worker& operator=(Worker&&) noexcept;
    /// stop(0s) if it was not stopped. Then it waits for handlers that still run, because their
    /// threads belong to the worker: a body that never returns holds it up. It logs which ones.
    ~Worker();

    /// Changes if the worker's row was purged while it was away: it drops its leases and registers
    /// again.
    [[nodiscard]] WorkerId id() const;
    [[nodiscard]] WorkerStatus status() const;
    /// Where its metrics are; 0 where it has none, and after stop().
    [[nodiscard]] int metrics_port() const;
    void start();         ///< returns at once
    void poll_forever();  ///< start(), then returns after stop(), interrupt() or a handled signal
    /// Claims everything that is ready at the call, runs it, `concurrency` at a time, and reports
    /// it; returns how many. What arrives meanwhile may be among it, but does not keep the call
    /// going. Not for a started worker.
    int poll_once();
    /// Claims no more, waits for the handlers, gives the rest back. Idempotent; legal before
    /// start(). A database that does not answer may hold it up by a few times
    /// ConnectOptions::call_timeout. Duration::max() waits for ever.
    StopReport stop(Duration deadline = 10s);
    void interrupt();  ///< ends the polling; poll_forever() returns after a drain
    void suspend();    ///< claims nothing until resume()
    void resume();
    /// SIGINT and SIGTERM end poll_forever() with a drain. A second signal ends the process
    /// immediately, with the signal's default action; leases then end by their time. When the last
    /// worker that handles signals has ended, the handlers from before are in place again. Opt-in;
    /// in a process with several workers each is asked to (or see pawl::poll_forever).
    void handle_signals();

private:
    std::shared_ptr<runtime::WorkerRuntime> runtime_;
};

/// All of them, of any stores: handle_signals() and poll_forever() for each, side by side. Returns
/// when all have ended; a signal drains all at once. When one throws, the others are stopped and it
/// is thrown on.
void poll_forever(std::span<Worker> workers);

/// One queue's handler, and how many messages it takes at a time; or one workflow's function.
struct HandlerSpec {
    std::string queue;  ///< or workflow
    int batch_size = 1;
    Handler handler = {};
    WorkflowHandler workflow = {};                  ///< instead of `handler`
    std::shared_ptr<const FlowHandlers> flow = {};  ///< instead of both: of a flow's steps
};

/// Where a worker's metrics can be scraped: http://address:port/metrics, in Prometheus' text
/// format.
struct MetricsOptions {
    int port = 0;                       ///< 0: any free one; Worker::metrics_port() tells which
    std::string address = "127.0.0.1";  ///< numeric; "0.0.0.0": whoever reaches this host may read
    /// How old what is read from the database may be (queue depths, lag); a slow one is asked less
    /// often still. 0: it is asked at each scrape.
    Duration refresh = 5s;
};

struct WorkerOptions;
namespace detail {
using OpenMetrics = std::unique_ptr<
    runtime::
        MetricsEndpoint> (*)(const WorkerOptions&, std::shared_ptr<const runtime::WorkerMeters>, std::shared_ptr<seam::Backend>);
// In the library pawl::metrics: a program that calls WorkerBuilder::metrics() links it.
std::unique_ptr<runtime::MetricsEndpoint> open_metrics_endpoint(
    const WorkerOptions& options,
    std::shared_ptr<const runtime::WorkerMeters> meters,
    std::shared_ptr<seam::Backend> backend
);
}  // namespace detail

struct WorkerOptions {
    std::string name;
    int port = 0;          ///< shown to operators; nothing listens there
    int concurrency = 16;  ///< handlers at a time; threads are made when they are needed
    /// A run gives its thread to another run while a step is committed: much cheaper if steps are
    /// short. The function may resume on another thread, so nothing that belongs to a thread (a
    /// held mutex, a reference to a thread_local) may be kept across a step. See docs/workflows.md.
    bool share_threads = false;
    std::optional<Duration> lease;          ///< default: each queue's
    std::optional<Duration> heartbeat;      ///< default: the store's
    std::optional<Duration> poll_interval;  ///< default: the store's
    Duration backoff_base = 1s;
    Duration backoff_cap = 5min;
    std::vector<HandlerSpec> handlers;
    /// Of what there are handlers for, only workflows below these prefixes are worked; and a run
    /// below them that no live worker has a handler for fails. None: PAWL_WORKER_PREFIXES
    /// ("billing.,media.") from the environment, else all.
    std::vector<std::string> prefixes;
    /// Fires schedules, and prunes what retention lets go, beside its work; any number of workers
    /// may.
    bool housekeeping = true;
    Sink outbox_sink = {};  ///< where given, the worker dispatches the store's outbox too
    DispatcherOptions dispatcher = {};
    std::optional<MetricsOptions> metrics = {};  ///< none: nothing is counted, nothing listens
    detail::OpenMetrics open_metrics = nullptr;  ///< set by WorkerBuilder::metrics()
    std::vector<std::string> discover;  ///< prefixes of discovered workflows to create and handle
};

class WorkerBuilder {
public:
    explicit WorkerBuilder(std::string name) { options_.name = std::move(name); }

    /// A handler that returns archives the message (deletes it where the queue keeps no archive);
    /// one that throws gives it back with backoff. It takes (const Message&), (HandlerContext&),
    /// or, with <pawl/json.h>, (const T&): a payload that is no T makes a dead letter.
    template <class F>
    WorkerBuilder& on_message(const std::string& queue, F handler) {
        return add(queue, 1, wrap_single(std::move(handler)));
    }
    /// Up to `batch_size` messages at a time: (std::span<const Message>) or (HandlerContext&). A
    /// throw gives the whole batch back.
    template <class F>
    WorkerBuilder& on_batch(const std::string& queue, int batch_size, F handler) {
        if constexpr (std::invocable<F&, HandlerContext&>) {
            return add(queue, batch_size, std::move(handler));
        } else {
            return add(
                queue,
                batch_size,
                [handler = std::move(handler)](HandlerContext& context) mutable {
                    handler(context.messages());
                }
            );
        }
    }
    /// A workflow's function: (Context&, P), (Context&, const P&) or (Context&), returning anything
    /// that converts to JSON, or void.
    template <class F>
    WorkerBuilder& handle(std::string workflow, F function) {
        options_.handlers.push_back(
            {std::move(workflow), 1, {}, make_workflow_handler(std::move(function)), {}}
        );
        return *this;
    }
    /// Of a typed workflow: a function that does not fit does not compile.
    template <class P, class R, class F>
    WorkerBuilder& handle(const Workflow<P, R>& workflow, F function) {
        if constexpr (std::is_void_v<P>) {
            static_assert(
                std::is_invocable_r_v<R, F&, Context&>, "the function does not fit the workflow"
            );
            return handle(std::string(workflow.name()), [function](Context& context) mutable -> R {
                return function(context);
            });
        } else {
            static_assert(
                std::is_invocable_r_v<R, F&, Context&, const P&>,
                "the function does not fit the workflow"
            );
            return handle(
                std::string(workflow.name()),
                [function](Context& context, const P& params) mutable -> R {
                    return function(context, params);
                }
            );
        }
    }
    /// The steps of a flow, all of them: create() refuses where one has no handler.
    WorkerBuilder& flow(std::string slug, FlowHandlers handlers) {
        options_.handlers.push_back(
            {std::move(slug), 1, {}, {}, std::make_shared<const FlowHandlers>(std::move(handlers))}
        );
        return *this;
    }
    /// With the functions that its on() was given.
    WorkerBuilder& flow(const Flow& flow) { return this->flow(flow.shape().slug, flow.handlers()); }
    /// Everything that PAWL_WORKFLOW registered below the prefix: create() makes the workflows too.
    WorkerBuilder& discover(std::string prefix = "") {
        options_.discover.push_back(std::move(prefix));
        return *this;
    }
    /// Works only workflows below the prefix, also those that are created later; see
    /// WorkerOptions::prefixes.
    WorkerBuilder& subscribe(std::string prefix) {
        options_.prefixes.push_back(std::move(prefix));
        return *this;
    }
    /// The function of the workflow that consumer() named.
    template <class F>
    WorkerBuilder& handler(F function) {
        return handle(workflow_, std::move(function));
    }
    WorkerBuilder& port(int value) { return options_.port = value, *this; }
    WorkerBuilder& concurrency(int value) { return options_.concurrency = value, *this; }
    /// See WorkerOptions::share_threads.
    WorkerBuilder& share_threads(bool value = true) {
        return options_.share_threads = value, *this;
    }
    WorkerBuilder& lease(Duration value) { return options_.lease = value, *this; }
    WorkerBuilder& heartbeat(Duration value) { return options_.heartbeat = value, *this; }
    WorkerBuilder& poll_interval(Duration value) { return options_.poll_interval = value, *this; }
    /// See WorkerOptions::housekeeping.
    WorkerBuilder& housekeeping(bool value) { return options_.housekeeping = value, *this; }
    /// Delivers the store's outbox beside its work.
    WorkerBuilder& dispatch(Sink sink, DispatcherOptions options = {}) {
        options_.outbox_sink = std::move(sink);
        options_.dispatcher = options;
        return *this;
    }
    /// An endpoint for Prometheus from create() to stop(); one per worker. The program links
    /// pawl::metrics. See docs/metrics.md.
    WorkerBuilder& metrics(int port, std::string address = "127.0.0.1") {
        return metrics(MetricsOptions{port, std::move(address)});
    }
    WorkerBuilder& metrics(MetricsOptions options) {
        options_.metrics = std::move(options);
        options_.open_metrics = &detail::open_metrics_endpoint;
        return *this;
    }
    WorkerBuilder& backoff(Duration base, Duration cap) {
        options_.backoff_base = base;
        options_.backoff_cap = cap;
        return *this;
    }
    /// Registers the worker with the store. Throws queue_not_found, workflow_not_found, test_clock,
    /// duplicate_workflow, invalid_argument; with metrics listen_failed, and backend_missing where
    /// this build has none.
    [[nodiscard]] Worker create(const Store& store) const;

private:
    WorkerBuilder& add(std::string queue, int batch_size, Handler handler) {
        options_.handlers.push_back({std::move(queue), batch_size, std::move(handler), {}, {}});
        return *this;
    }
    template <class R, class F, class Argument>
    static Argument argument_of(R (F::*)(Argument) const);
    template <class R, class F, class Argument>
    static Argument argument_of(R (F::*)(Argument));
    template <class F>
    static Handler wrap_single(F handler) {
        if constexpr (std::invocable<F&, const Message&>) {
            return
                [handler = std::move(handler)](HandlerContext& c) mutable { handler(c.message()); };
        } else if constexpr (std::invocable<F&, HandlerContext&>) {
            return handler;
        } else if constexpr (std::is_pointer_v<F>) {
            return wrap_typed(std::move(handler), handler);
        } else {
            using Value = std::remove_cvref_t<decltype(argument_of(&F::operator()))>;
            return wrap_value<Value>(std::move(handler));
        }
    }
    template <class F, class R, class Argument>
    static Handler wrap_typed(F handler, R (*)(Argument)) {
        return wrap_value<std::remove_cvref_t<Argument>>(std::move(handler));
    }
    template <class Value, class F>
    static Handler wrap_value(F handler) {
        return [handler = std::move(handler)](HandlerContext& context) mutable {
            Value value = decode<Value>(context.message());
            handler(value);
        };
    }
    template <class Value>
    static Value decode(const Message& message) {
        try {
            return message.as<Value>();
        } catch (const Error& error) {
            throw PermanentError(error.what());  // it will not decode better the next time
        }
    }

    friend WorkerBuilder consumer(std::string name, int port, std::string workflow);

    WorkerOptions options_;
    std::string workflow_;
};

/// A worker for one workflow: consumer("worker-1", 8080, "zip_files").handler(fn).create(store).
[[nodiscard]] inline WorkerBuilder consumer(std::string name, int port, std::string workflow) {
    WorkerBuilder builder(std::move(name));
    builder.options_.port = port;
    builder.workflow_ = std::move(workflow);
    return builder;
}

[[nodiscard]] inline WorkerBuilder worker(std::string name) {
    return WorkerBuilder(std::move(name));
}

}  // namespace pawl
