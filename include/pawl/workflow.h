// Workflows: their definition, and triggering runs of them.
//
//   inline constexpr pawl::Workflow<ZipParams, ZipResult> zip{"zip_files"};   // typed
//   auto run = zip.trigger({"photos", "2026/"}).priority(5).execute(store);
//   ZipResult result = run.wait(30s);
//
//   auto run = pawl::workflow("zip_files").trigger(params).execute(store);    // by name
//
// store.create_workflow(name) must have been called once. A run that is triggered waits in the
// store until a worker executes it: see pawl/worker.h for that, and pawl/context.h for the
// function.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <pawl/codec.h>
#include <pawl/run.h>
#include <pawl/transaction.h>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace pawl::inline v0 {

class Store;

/// Which events are kept of a workflow's runs. exceptions: retries, failures, pauses, cancels,
/// manual actions. all: successful ends too. See Run::history().
enum class AuditLevel { off, exceptions, all };
/// The name: "off", "exceptions", "all".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(AuditLevel level);

/// Which outbox events a workflow's runs publish by themselves. alerts: run.poison,
/// run.no_handler_registered, run.dead_lettered. ends: these and run.succeeded, run.failed,
/// run.cancelled, run.paused.
enum class PublishLevel { off, alerts, ends };
/// The name: "off", "alerts", "ends".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(PublishLevel level);

/// The options of Store::create_workflow(). On an existing workflow only the fields that are set
/// are changed.
struct WorkflowOptions {
    /// How often a step is executed before it has failed, including the first time; default 3. The
    /// same limit holds for calls of the function that fail outside of steps without any progress
    /// in between.
    std::optional<int> max_attempts = {};
    std::optional<Duration> backoff_base = {};  ///< wait before the first retry; default 1 s
    std::optional<Duration> backoff_cap = {};   ///< the longest wait before a retry; default 5 min
    std::optional<Duration> lease = {};         ///< default: the store's (30 s)
    /// From the first start to the end, pauses included; default: no limit. 0 removes the limit. A
    /// function that has not returned two seconds later is abandoned: see docs/workflows.md.
    std::optional<Duration> run_timeout = {};
    /// Deliveries without any progress, after which the run fails as poison; default 5.
    std::optional<int> max_strikes = {};
    /// Triggered with the id, workflow, input and error of each run that fails; "" removes it.
    std::optional<std::string> dead_letter_workflow = {};
    std::optional<AuditLevel> audit = {};      ///< default exceptions
    std::optional<PublishLevel> publish = {};  ///< default off
};

/// A workflow's settings as they are stored. WorkflowOptions describes the fields that it shares.
struct WorkflowInfo {
    QueueId queue;  ///< the queue that carries its runs; it has the workflow's name
    std::string name;
    bool paused = false;  ///< runs can be triggered, but no worker starts one
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
    std::optional<Duration> task_timeout;  ///< for a flow: the time limit of its tasks
    Timestamp created_at;
};

/// Rates and durations of the runs that ended within a window of time.
struct WorkflowMetrics {
    std::string workflow;
    Duration window{};
    /// The newest 10,000 successes and 10,000 other ends within the window are counted. If there
    /// are more, rates and durations are those of the runs counted.
    Count succeeded;
    Count failed;
    Count cancelled;
    double success_rate = 0;  ///< of the runs that succeeded or failed; 0 if there are none
    double failure_rate = 0;
    double runs_per_second = 0;                ///< runs that ended, with any status
    std::optional<Duration> average_duration;  ///< from the first start to the end; successes only
    std::optional<Duration> p50_duration;
    std::optional<Duration> p95_duration;
    std::optional<Duration> p99_duration;
    Count queue_depth;                       ///< runs that could start now
    Count in_flight;                         ///< runs that are leased
    Count waiting;                           ///< runs that are delayed, retrying, paused or asleep
    std::optional<Duration> oldest_waiting;  ///< how long the oldest of queue_depth has been ready
};

/// How a run is created. TriggerOf has a setter for each field.
struct TriggerOptions {
    int priority = 0;   ///< higher first; equal ones in order of arrival; -1,000,000 to 1,000,000
    Duration delay{0};  ///< before the first start, by the database's clock; up to 100 years
    std::optional<Timestamp> at = {};  ///< a time instead of a delay; the past means now
    /// Unique per workflow among runs that are not soft-deleted: a second trigger with the same key
    /// creates no run and returns the handle of the first.
    std::optional<std::string> idempotency_key = {};
    std::optional<int> max_attempts = {};  ///< of steps; default: the workflow's
    RunId parent = {};  ///< shown with the run; retention keeps it while it is live
    std::vector<std::string> tags = {};  ///< for RunFilter::tag; up to 64
};

/// One run to be created: what a TriggerOf holds, and what Store::trigger() takes many of.
struct NewRun {
    std::string workflow;
    Json input = {};  ///< the parameters
    TriggerOptions options = {};
    bool flow = false;  ///< set by Flow::start(): throws flow_not_found if it is not a flow
};

/// A trigger that waits for the result: see TriggerOf::wait().
template <class R>
class WaitingTrigger {
public:
    /// See TriggerOf::wait().
    WaitingTrigger(NewRun run, Duration timeout) : run_(std::move(run)), timeout_(timeout) {}
    /// Triggers the run, blocks until it has ended, and returns its output. Throws like
    /// TriggerOf::execute() and Run::wait(). After wait_timeout the run continues.
    template <class T = R>
    T execute(const Store& store) const;

private:
    NewRun run_;
    Duration timeout_;
};

/// A run to be triggered, with its options. It is a value: copy it, keep it, execute it several
/// times, each of which creates a run (see pawl.h for its thread safety). R is the type of the
/// result; Trigger is the form without one. Creating one and setting options does no I/O. Wrong
/// options are reported by execute().
template <class R>
class TriggerOf {
public:
    /// See Workflow::trigger().
    explicit TriggerOf(NewRun run) : run_(std::move(run)) {}
    /// Drops the type of the result.
    template <class Other>
    requires(std::same_as<R, Json> && !std::same_as<Other, Json>)
        TriggerOf(const TriggerOf<Other>& typed)  // NOLINT(google-explicit-constructor)
        : run_(typed.run()) {}

    // One setter per field of TriggerOptions. A setter changes a named trigger in place and moves a
    // temporary one, so that `auto t = workflow.trigger(p).priority(5);` does not dangle.
    /// @{
    /// Sets the option of that name: see TriggerOptions.
    TriggerOf& priority(int value) & { return set(&TriggerOptions::priority, value); }
    TriggerOf priority(int value) && { return std::move(priority(value)); }
    TriggerOf& delay(Duration value) & { return set(&TriggerOptions::delay, value); }
    TriggerOf delay(Duration value) && { return std::move(delay(value)); }
    TriggerOf& at(Timestamp value) & { return set(&TriggerOptions::at, value); }
    TriggerOf at(Timestamp value) && { return std::move(at(value)); }
    TriggerOf& idempotency_key(std::string_view value) & {
        return set(&TriggerOptions::idempotency_key, std::string(value));
    }
    TriggerOf idempotency_key(std::string_view value) && {
        return std::move(idempotency_key(value));
    }
    TriggerOf& max_attempts(int value) & { return set(&TriggerOptions::max_attempts, value); }
    TriggerOf max_attempts(int value) && { return std::move(max_attempts(value)); }
    TriggerOf& parent(RunId value) & { return set(&TriggerOptions::parent, value); }
    TriggerOf parent(RunId value) && { return std::move(parent(value)); }
    /// @}

    /// @{
    /// Adds one tag.
    TriggerOf& tag(std::string_view value) & {
        run_.options.tags.emplace_back(value);
        return *this;
    }
    TriggerOf tag(std::string_view value) && { return std::move(tag(value)); }
    /// @}

    /// @{
    /// Replaces the tags.
    TriggerOf& tags(std::vector<std::string> values) & {
        return set(&TriggerOptions::tags, std::move(values));
    }
    TriggerOf tags(std::vector<std::string> values) && {
        return std::move(tags(std::move(values)));
    }
    /// @}

    /// Creates the run and returns after the commit: the run is never lost then. It does not wait
    /// for the run. While the database is away it retries for ConnectOptions::retry_timeout. Throws
    /// workflow_not_found, invalid_payload, payload_too_large, invalid_argument. An Error with
    /// in_doubt() means that the connection died during the commit: the run may exist. With an
    /// idempotency key the call is repeated first, and the caller can safely repeat it too.
    RunOf<R> execute(const Store& store) const;
    /// The same inside the caller's own open transaction: the run exists if and only if that
    /// transaction commits. Nothing is retried. Throws wrong_transaction too.
    RunOf<R> execute_in(Transaction transaction, const Store& store) const;
    /// trigger(...).wait(30s).execute(store) returns the run's output. This call does no I/O.
    [[nodiscard]] WaitingTrigger<R> wait(Duration timeout) const { return {run_, timeout}; }

    /// What execute() creates.
    [[nodiscard]] const NewRun& run() const { return run_; }

private:
    template <class Member, class Value>
    TriggerOf& set(Member member, Value value) {
        run_.options.*member = std::move(value);
        return *this;
    }

    NewRun run_;
};
/// A run to be triggered whose result is JSON text.
using Trigger = TriggerOf<Json>;

namespace detail {
[[nodiscard]] PAWL_EXPORT Run trigger_one(const NewRun& run, const Store& store);
[[nodiscard]] PAWL_EXPORT Run
trigger_one_in(Transaction transaction, const NewRun& run, const Store& store);
}  // namespace detail

template <class R>
RunOf<R> TriggerOf<R>::execute(const Store& store) const {
    return RunOf<R>(detail::trigger_one(run_, store));
}
template <class R>
RunOf<R> TriggerOf<R>::execute_in(Transaction transaction, const Store& store) const {
    return RunOf<R>(detail::trigger_one_in(transaction, run_, store));
}
template <class R>
template <class T>
T WaitingTrigger<R>::execute(const Store& store) const {
    return RunOf<T>(detail::trigger_one(run_, store)).wait(timeout_);
}

namespace detail {

/// Defined by <pawl/compat.h>.
template <class Store>
struct CompatRuns;

template <class R, class Store>
RunOf<R> compat_run(std::string_view workflow, RunId id, const Store& store) {
    constexpr bool included = requires {
        sizeof(CompatRuns<Store>);
    };
    static_assert(included, "pawl: get_run() needs #include <pawl/compat.h>; or use store.run(id)");
    if constexpr (included) {
        return RunOf<R>(CompatRuns<Store>::find(workflow, id, store));
    } else {
        return never<RunOf<R>>();
    }
}

}  // namespace detail

/// A workflow by name, without types. It is a value; creating one does no I/O.
class WorkflowRef {
public:
    /// See workflow().
    explicit WorkflowRef(std::string name) : name_(std::move(name)) {}
    /// The name.
    [[nodiscard]] const std::string& name() const { return name_; }

    /// A run with these parameters, to be executed: see TriggerOf.
    [[nodiscard]] Trigger trigger(Json input = {}) const {
        return Trigger(NewRun{name_, std::move(input), {}});
    }
    /// The same with a typed value. Needs <pawl/json.h>. Throws serialization_error if the value
    /// does not convert, such as a string that is not UTF-8.
    template <class T>
    [[nodiscard]] Trigger trigger(const T& params) const {
        return trigger(Json(detail::encode(params)));
    }
    /// Compatibility: see <pawl/compat.h>, which it needs. New code uses Store::run().
    template <class Store>
    [[nodiscard]] Run get_run(RunId id, const Store& store) const {
        return detail::compat_run<Json>(name_, id, store);
    }

private:
    std::string name_;
};
/// pawl::workflow("order").trigger(params).execute(store)
[[nodiscard]] inline WorkflowRef workflow(std::string_view name) {
    return WorkflowRef(std::string(name));
}

namespace detail {

/// A name of up to 128 bytes that a constexpr object can own.
class WorkflowName {
public:
    static constexpr std::size_t max_size = 128;
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr WorkflowName(std::string_view name) : size_(name.size()) {
        if (name.size() > max_size)
            throw Error(
                ErrorCode::invalid_argument, "a workflow's name has at most 128 characters"
            );
        std::copy(name.begin(), name.end(), text_.begin());
    }
    [[nodiscard]] constexpr std::string_view view() const { return {text_.data(), size_}; }

private:
    std::array<char, max_size> text_{};
    std::size_t size_;
};

}  // namespace detail

/// A workflow whose parameters (P) and result (R) have types: triggers, handlers and results of
/// other types do not compile. If P is void, the workflow has no parameters; if R is void, it has
/// no result. It owns its name, so it cannot dangle, and may be constexpr. A name of more than 128
/// bytes does not compile, or throws invalid_argument if the object is not constexpr. Creating one
/// does no I/O.
template <class P, class R>
class Workflow {
public:
    /// @{
    /// The types that it was declared with.
    using Params = P;
    using Result = R;
    /// @}

    /// Up to 128 bytes.
    constexpr explicit Workflow(std::string_view name) : name_(name) {}
    /// Valid as long as this object.
    [[nodiscard]] constexpr std::string_view name() const { return name_.view(); }

    /// A run with these parameters, to be executed: see TriggerOf.
    [[nodiscard]] TriggerOf<R> trigger(const P& params) const {
        return TriggerOf<R>(NewRun{std::string(name()), detail::encode(params), {}});
    }
    /// Compatibility: see <pawl/compat.h>, which it needs. New code uses Store::run().
    template <class Store>
    [[nodiscard]] RunOf<R> get_run(RunId id, const Store& store) const {
        return detail::compat_run<R>(name(), id, store);
    }

private:
    detail::WorkflowName name_;
};
/// A workflow without parameters.
template <class R>
class Workflow<void, R> {
public:
    /// @{
    /// The types that it was declared with.
    using Params = void;
    using Result = R;
    /// @}

    /// Up to 128 bytes.
    constexpr explicit Workflow(std::string_view name) : name_(name) {}
    /// The name.
    [[nodiscard]] constexpr std::string_view name() const { return name_.view(); }

    /// A trigger of one run.
    [[nodiscard]] TriggerOf<R> trigger() const {
        return TriggerOf<R>(NewRun{std::string(name()), {}, {}});
    }
    /// Compatibility: see <pawl/compat.h>, which it needs. New code uses Store::run().
    template <class Store>
    [[nodiscard]] RunOf<R> get_run(RunId id, const Store& store) const {
        return detail::compat_run<R>(name(), id, store);
    }

private:
    detail::WorkflowName name_;
};

}  // namespace pawl::inline v0
