// Workflows: their definition, and triggering runs of them.
//
//   inline constexpr pawl::Workflow<ZipParams, ZipResult> zip{"zip_files"};   // typed
//   auto run = zip.trigger({"photos", "2026/"}).priority(5).execute(store);
//   ZipResult result = run.wait(30s);
//
//   auto run = pawl::workflow("zip_files").trigger(params).execute(store);    // by name
#pragma once

#include <concepts>
#include <optional>
#include <pawl/run.h>
#include <pawl/transaction.h>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pawl {

class Store;

/// Which events are kept of a workflow's runs. exceptions: retries, failures, pauses, cancels,
/// manual actions; all: successful ends too.
enum class AuditLevel { off, exceptions, all };
[[nodiscard]] std::string_view to_string(AuditLevel level);

/// Which outbox events a workflow's runs publish by themselves. alerts: run.poison,
/// run.no_handler_registered, run.dead_lettered; ends: these and run.succeeded, run.failed,
/// run.cancelled, run.paused.
enum class PublishLevel { off, alerts, ends };
[[nodiscard]] std::string_view to_string(PublishLevel level);

/// Only what is given is changed; create_workflow() on an existing workflow keeps the rest.
struct WorkflowOptions {
    /// Default 3: executions of a step, and of the handler outside of steps without any progress.
    std::optional<int> max_attempts = {};
    std::optional<Duration> backoff_base = {};  ///< default 1 s
    std::optional<Duration> backoff_cap = {};   ///< default 5 min
    std::optional<Duration> lease = {};         ///< default: the store's (30 s)
    /// From the first start to the end, pauses included; default none. 0 goes back to none. A
    /// function that has not returned two seconds later is given up: see docs/workflows.md.
    std::optional<Duration> run_timeout = {};
    std::optional<int> max_strikes = {};  ///< default 5: hand-outs without any report
    /// Triggered with the run's id, workflow, input and error when one fails; "" goes back to none.
    std::optional<std::string> dead_letter_workflow = {};
    std::optional<AuditLevel> audit = {};      ///< default exceptions
    std::optional<PublishLevel> publish = {};  ///< default off
};

/// A workflow's settings as they are stored.
struct WorkflowInfo {
    QueueId queue;  ///< of the queue that carries its runs; it has the workflow's name
    std::string name;
    bool paused = false;  ///< the queue is: triggers go on, nothing is started
    int max_attempts = 3;
    Duration backoff_base{};
    Duration backoff_cap{};
    std::optional<Duration> lease;
    std::optional<Duration> run_timeout;
    int max_strikes = 5;
    std::string dead_letter_workflow;
    AuditLevel audit = AuditLevel::exceptions;
    PublishLevel publish = PublishLevel::off;
    bool is_flow = false;                  ///< declared as steps with dependencies: see pawl/flow.h
    std::optional<Duration> task_timeout;  ///< of a flow's tasks
    Timestamp created_at;
};

/// Rates and durations are of the runs that ended inside the window.
struct WorkflowMetrics {
    std::string workflow;
    Duration window{};
    /// Of the runs that ended within the window the newest are counted, up to 10,000 successes and
    /// as many others. If that is not all, rates and durations are those of the runs counted.
    Count succeeded;
    Count failed;
    Count cancelled;
    double success_rate = 0;  ///< of those that succeeded or failed; 0 where there are none
    double failure_rate = 0;
    double runs_per_second = 0;                ///< that ended, in any way
    std::optional<Duration> average_duration;  ///< from the first start to the end, successes only
    std::optional<Duration> p50_duration;
    std::optional<Duration> p95_duration;
    std::optional<Duration> p99_duration;
    Count queue_depth;                       ///< runs that could be started now
    Count in_flight;                         ///< in a worker's hands
    Count waiting;                           ///< delayed, retrying, paused or sleeping
    std::optional<Duration> oldest_waiting;  ///< how long the oldest of the depth has been ready
};
[[nodiscard]] WorkflowMetrics workflow_metrics(
    const std::string& workflow, const Store& store, Duration window = std::chrono::hours(1)
);

struct TriggerOptions {
    int priority = 0;                  ///< higher first; equal ones in order of arrival
    Duration delay{0};                 ///< from the database's now
    std::optional<Timestamp> at = {};  ///< a time instead of a delay; the past means now
    /// Unique per workflow among runs that are not soft-deleted: the second trigger with the same
    /// key makes no run and returns the first one's handle.
    std::optional<std::string> idempotency_key = {};
    std::optional<int> max_attempts = {};  ///< default: the workflow's
    RunId parent = {};                     ///< shown with the run
    std::vector<std::string> tags = {};    ///< to find it by
};

/// One run to be made.
struct NewRun {
    std::string workflow;
    Json input = {};
    TriggerOptions options = {};
    bool flow = false;  ///< Flow::start(): if it does not exist, the error is flow_not_found
};

class Trigger;

/// A trigger that waits for the result.
class WaitingTrigger {
public:
    WaitingTrigger(NewRun run, Duration timeout) : run_(std::move(run)), timeout_(timeout) {}
    /// Triggers, waits, returns the output. Throws as Trigger::execute and Run::wait.
    template <class T = Json>
    T execute(const Store& store) const {
        return JsonCodec<T>::decode(execute_json(store));
    }
    [[nodiscard]] Json execute_json(const Store& store) const;

private:
    NewRun run_;
    Duration timeout_;
};

/// What the two builders share. `Self` is the builder.
template <class Self>
class TriggerSettings {
public:
    Self& priority(int value) { return run_.options.priority = value, self(); }
    Self& delay(Duration value) { return run_.options.delay = value, self(); }
    Self& at(Timestamp value) { return run_.options.at = value, self(); }
    Self& idempotency_key(std::string value) {
        return run_.options.idempotency_key = std::move(value), self();
    }
    Self& max_attempts(int value) { return run_.options.max_attempts = value, self(); }
    Self& parent(RunId value) { return run_.options.parent = value, self(); }
    Self& tag(std::string value) { return run_.options.tags.push_back(std::move(value)), self(); }
    Self& tags(std::vector<std::string> values) {
        return run_.options.tags = std::move(values), self();
    }
    [[nodiscard]] const NewRun& run() const { return run_; }

protected:
    explicit TriggerSettings(NewRun run) : run_(std::move(run)) {}
    NewRun run_;

private:
    Self& self() { return static_cast<Self&>(*this); }
};

class Trigger : public TriggerSettings<Trigger> {
public:
    explicit Trigger(NewRun run) : TriggerSettings(std::move(run)) {}
    /// Returns after the commit. Throws workflow_not_found, invalid_payload, payload_too_large,
    /// invalid_argument; an Error with in_doubt() means that the connection died while the commit
    /// was under way (with an idempotency key: just trigger again).
    Run execute(const Store& store) const;
    /// The same inside the caller's own open transaction: the run exists exactly when that commits.
    Run execute_in(Transaction transaction, const Store& store) const;
    [[nodiscard]] WaitingTrigger wait(Duration timeout) const { return {run_, timeout}; }
};

/// Many runs, of one or several workflows, in one commit: all or nothing; an error names the index
/// of the bad one. Handles are in the order given.
std::vector<Run> execute_many(std::span<const NewRun> runs, const Store& store);
std::vector<Run> execute_many_in(
    Transaction transaction, std::span<const NewRun> runs, const Store& store
);

template <class R>
class TriggerOf : public TriggerSettings<TriggerOf<R>> {
public:
    explicit TriggerOf(NewRun run) : TriggerSettings<TriggerOf<R>>(std::move(run)) {}
    RunOf<R> execute(const Store& store) const {
        return RunOf<R>(execute_many(one(), store).front());
    }
    RunOf<R> execute_in(Transaction transaction, const Store& store) const {
        return RunOf<R>(execute_many_in(transaction, one(), store).front());
    }
    operator Trigger() const { return Trigger(this->run_); }  // NOLINT: for execute_many

private:
    [[nodiscard]] std::span<const NewRun> one() const { return {&this->run_, 1}; }
};

std::vector<Run> execute_many(std::span<const Trigger> triggers, const Store& store);

/// A workflow by name. Making one does no I/O.
class WorkflowRef {
public:
    explicit WorkflowRef(std::string name) : name_(std::move(name)) {}
    [[nodiscard]] const std::string& name() const { return name_; }

    [[nodiscard]] Trigger trigger(Json input = {}) const {
        return Trigger(NewRun{name_, std::move(input), {}});
    }
    /// A typed value, through <pawl/json.h>.
    template <class T>
    [[nodiscard]] Trigger trigger(const T& params) const {
        static_assert(
            !std::is_convertible_v<T, const char*>,
            "JSON text goes in as pawl::Json{...}; a JSON string as std::string"
        );
        return trigger(JsonCodec<T>::encode(params));
    }
    /// Throws run_not_found, also where the run is another workflow's.
    [[nodiscard]] Run get_run(RunId id, const Store& store) const;

private:
    std::string name_;
};
[[nodiscard]] inline WorkflowRef workflow(std::string name) {
    return WorkflowRef(std::move(name));
}

/// A workflow whose parameters and result have types: wrong ones do not compile. P void: none.
template <class P, class R>
class Workflow {
public:
    using Params = P;
    using Result = R;

    constexpr explicit Workflow(std::string_view name) : name_(name) {}
    [[nodiscard]] constexpr std::string_view name() const { return name_; }

    [[nodiscard]] TriggerOf<R> trigger(const P& params) const {
        return TriggerOf<R>(NewRun{std::string(name_), JsonCodec<P>::encode(params), {}});
    }
    [[nodiscard]] RunOf<R> get_run(RunId id, const Store& store) const {
        return RunOf<R>(WorkflowRef(std::string(name_)).get_run(id, store));
    }

private:
    std::string_view name_;
};
template <class R>
class Workflow<void, R> {
public:
    using Params = void;
    using Result = R;

    constexpr explicit Workflow(std::string_view name) : name_(name) {}
    [[nodiscard]] constexpr std::string_view name() const { return name_; }

    [[nodiscard]] TriggerOf<R> trigger() const {
        return TriggerOf<R>(NewRun{std::string(name_), {}, {}});
    }
    [[nodiscard]] RunOf<R> get_run(RunId id, const Store& store) const {
        return RunOf<R>(WorkflowRef(std::string(name_)).get_run(id, store));
    }

private:
    std::string_view name_;
};

}  // namespace pawl
