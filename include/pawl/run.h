// A run: one execution of a workflow, with the steps recorded in it. Run is the handle; the structs
// are copies of what is stored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <pawl/codec.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/stats.h>
#include <pawl/types.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::engine {
class OpenStore;
}

namespace pawl::inline v0 {

struct TaskInfo;

/// queued: never started. running: started, also while it waits for a retry. paused: it waits for a
/// resume, a time or another run. success, error and cancelled are final: a run never leaves them.
enum class RunStatus { queued, running, paused, success, error, cancelled };
/// The name, the same as in SQL: "QUEUED", "RUNNING", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(RunStatus status);
/// True for success, error and cancelled.
[[nodiscard]] constexpr bool is_finished(RunStatus status) {
    return status == RunStatus::success || status == RunStatus::error ||
           status == RunStatus::cancelled;
}

/// pending: waits for its next attempt or, in a flow, for its dependencies. skipped occurs in flows
/// only.
enum class StepStatus { pending, running, paused, success, error, skipped, cancelled };
/// The name, the same as in SQL: "PENDING", "RUNNING", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(StepStatus status);

/// What a paused step waits for. More kinds may be added. resume: Run::resume() for this step.
/// time: a sleep. run: the end of a run that ctx.call() has started.
enum class WaitKind { resume, time, run };
/// The name: "resume", "time", "run".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(WaitKind kind);

/// What a paused step, and with it its run, waits for.
struct Wait {
    WaitKind kind = WaitKind::resume;
    std::optional<Timestamp> until = {};  ///< for time: when the wait ends
    RunId run = {};                       ///< for run: the run whose end is awaited
};

/// A step as it is recorded. While a step is executed for the first time it has no record, unless
/// its body takes longer than a second.
struct StepInfo {
    std::string id;    ///< the name given; its second use in a run is "name#2"
    int position = 0;  ///< the order in which the run reached its steps
    StepStatus status = StepStatus::pending;
    int attempt = 0;   ///< number of recorded executions of its body
    int delivery = 0;  ///< the delivery that recorded the step; 0 if a retry or fork copied it
    WorkerId worker;   ///< the worker that recorded it
    std::optional<Json> input;         ///< what StepOptions::input gave
    std::optional<Json> output;        ///< the result of a successful step
    std::optional<Json> error;         ///< the last failure: {"type", "message", "step", "attempt"}
    std::string pause_message;         ///< for a paused step: the message for people
    std::string pause_condition;       ///< for a paused step: the `condition` passed to PauseError
    std::optional<Timestamp> wake_at;  ///< for a sleep: when it ends
    std::optional<Wait> waits_for;     ///< set exactly while the step is paused
    std::optional<Timestamp> started_at;  ///< for a step of a flow: when its tasks were created
    std::optional<Timestamp> completed_at;

    // The rest is set for steps of flows only.
    std::optional<int> remaining_deps;   ///< dependencies that have not finished
    std::optional<int> initial_tasks;    ///< number of tasks; not set before the step starts
    std::optional<int> remaining_tasks;  ///< tasks that have not succeeded
    std::string skip_reason;             ///< condition_unmet, handler_failed or dependency_skipped
};

/// A run as it is stored.
struct RunInfo {
    RunId id;
    std::string workflow;
    RunStatus status = RunStatus::queued;
    int priority = 0;
    std::optional<int> max_attempts;  ///< if the trigger set it
    int delivery = 0;                 ///< how often the run was delivered to a worker
    int strikes = 0;                  ///< deliveries since the last recorded progress
    int attempts = 0;       ///< failures outside of steps since the last recorded progress
    WorkerId worker;        ///< the last worker that executed it
    RunId parent;           ///< the run that triggered it, if the trigger named one
    RunId origin;           ///< the run that it is a retry or a fork of
    std::string forked_at;  ///< for a fork: the first step that was not taken over
    std::optional<std::string> idempotency_key;
    std::vector<std::string> tags;
    Json input;
    std::optional<Json> output;
    std::optional<Json> error;  ///< {"type", "message", "step", "attempt"}
    std::string last_error;     ///< one readable line; also set while the run is being retried
    std::optional<int> remaining_steps;  ///< for a flow: steps that did not succeed or get skipped
    /// For a live run: when it is delivered next; if leased, the end of the lease.
    std::optional<Timestamp> visible_at;
    Timestamp created_at;
    Timestamp updated_at;
    std::optional<Timestamp> started_at;
    std::optional<Timestamp> paused_at;
    std::optional<Timestamp> completed_at;
    std::optional<Timestamp> deleted_at;
    std::string deleted_reason;

    /// The output as a T. Throws serialization_error, which names the run. Needs <pawl/json.h>.
    template <class T>
    [[nodiscard]] T output_as() const {
        return detail::decode<T>(output.value_or(Json{}), [this] {
            return "the output of run " + std::to_string(id.value()) + " of workflow '" + workflow +
                   "'";
        });
    }
};

/// A recorded event of a run that its rows no longer show: a retry, a failure, a manual action.
struct RunEvent {
    std::int64_t id = 0;  ///< in the order in which events were recorded
    RunId run;
    std::string kind;  ///< docs/history.md lists the kinds
    Json data;         ///< the details, by kind
    WorkerId worker;   ///< the worker that recorded it, if one did
    int delivery = 0;  ///< of the run; 0 means not applicable
    Timestamp at;
};

/// One entry of a run's history, from a row or from an event. docs/history.md lists the kinds.
struct HistoryEntry {
    Timestamp at;
    std::string kind;               ///< triggered, started, step_succeeded, ...
    std::string step;               ///< empty: the entry concerns the run itself
    std::optional<int> task_index;  ///< for a task of a flow
    int attempt = 0;                ///< of the step or the task; 0 means not applicable
    int delivery = 0;               ///< of the message; 0 means not applicable
    WorkerId worker;
    std::string text;  ///< one readable line
    Json data;         ///< the details: input, output, error, ...
};

/// Selects runs. A run matches if every field that is set matches.
struct RunFilter {
    std::optional<std::string> workflow = {};
    std::optional<RunStatus> status = {};
    std::optional<Timestamp> created_from = {};    ///< inclusive
    std::optional<Timestamp> created_before = {};  ///< exclusive
    std::optional<std::string> tag = {};
    std::optional<std::string> idempotency_key = {};
    bool include_deleted = false;  ///< soft-deleted runs too
};

/// Keyset paging, newest first: pass the last id of a page as `before` to get the next page.
struct RunPage {
    RunId before = {};
    int limit = 100;  ///< 1 to 10,000
};

/// The result of Store::count_runs(): the number of runs by status.
struct RunCounts {
    Count queued;
    Count running;
    Count paused;
    Count success;
    Count error;
    Count cancelled;
};

/// Thrown by wait() and output() if the run ended as ERROR. Its code() is execution_failed.
class PAWL_EXPORT ExecutionFailed : public Error {
public:
    /// Created by the library.
    ExecutionFailed(RunId run, const std::string& message, Json error)
        : Error(ErrorCode::execution_failed, message), run_(run), error_(std::move(error)) {}
    [[nodiscard]] RunId run() const { return run_; }            ///< the run that failed
    [[nodiscard]] const Json& error() const { return error_; }  ///< same as RunInfo::error

private:
    RunId run_;
    Json error_;
};

/// The options of Run::resume().
struct ResumeOptions {
    /// Accepts a resume for a step at which the run does not wait yet: the data is kept and used
    /// when the run pauses there. Without it such a resume is refused (step_not_waiting), because
    /// usually the name of the step is wrong.
    bool early = false;
};

/// A handle of one run. It is cheap to copy, keeps the store open, and may be used from several
/// threads. Creating one does no I/O. Every other call reads or writes the store: it blocks until
/// the database has answered, retries for ConnectOptions::retry_timeout while the database is away,
/// and throws run_not_found if the run does not exist. Writes are durable on return.
class PAWL_EXPORT Run {
public:
    /// The id, which `pawl run show` and the logs print.
    [[nodiscard]] RunId id() const { return id_; }
    /// True if the call that returned this handle created the run. False if the idempotency key of
    /// a trigger had been used before, so that this is the earlier run, and for Store::run().
    [[nodiscard]] bool created() const { return created_; }

    // --- what is stored ---
    /// The run itself. Soft-deleted runs are found too.
    [[nodiscard]] RunInfo info() const;
    /// info().status
    [[nodiscard]] RunStatus status() const { return info().status; }
    /// The recorded steps, in the order in which the run reached them.
    [[nodiscard]] std::vector<StepInfo> steps() const;
    /// One recorded step. Throws step_not_found.
    [[nodiscard]] StepInfo step(std::string_view id) const;
    /// For a run of a flow: its tasks, by step, then index. Include <pawl/flow.h> for TaskInfo.
    [[nodiscard]] std::vector<TaskInfo> tasks() const;
    /// The events that were kept, oldest first: see WorkflowOptions::audit.
    [[nodiscard]] std::vector<RunEvent> events() const;
    /// Everything that happened, in order of time, each thing once: rows and events merged.
    /// WorkflowOptions::audit decides how many events are kept.
    [[nodiscard]] std::vector<HistoryEntry> history() const;
    /// This run, the runs that it was retried or forked from, and all that were created from
    /// these, by id.
    [[nodiscard]] std::vector<RunInfo> lineage() const;

    // --- actions ---
    /// Sets the result of the step that the run waits at, and resumes the run. The first resume
    /// wins. Throws run_finished, step_finished; step_not_waiting if the run does not wait
    /// at the step, unless ResumeOptions::early is set; invalid_argument for a step that sleeps or
    /// waits for another run. If the run cannot decode the data, it pauses at the step again and
    /// can be resumed again (docs/workflows.md).
    void resume(std::string_view step, const Json& data = {}, const ResumeOptions& options = {})
        const;
    /// The same with a typed value. Needs <pawl/json.h>.
    template <class T>
    void resume(std::string_view step, const T& data, const ResumeOptions& options = {}) const {
        resume(step, Json(detail::encode(data)), options);
    }
    /// On return the run is CANCELLED and nothing more of it is recorded. A worker that executes it
    /// is notified, but a body that runs is not interrupted: it should check ctx.stop_token().
    /// Throws run_finished.
    void cancel(std::string_view reason) const;
    /// Makes a waiting run (delayed, retrying or paused) ready now. A sleep that has not ended
    /// continues to sleep. Changes nothing if the run is ready or leased.
    void wake() const;
    /// Creates a run that is linked to this one, which has failed or was cancelled, and takes its
    /// finished steps over. Throws run_not_failed.
    Run retry() const;  // NOLINT(modernize-use-nodiscard): it creates a run
    /// Creates a run that takes over the finished steps before `from_step`. Throws step_not_found.
    Run fork(std::string_view from_step) const;
    /// Cancels a live run, hides the run from lists and frees its idempotency key.
    /// Retention removes it later.
    void soft_delete(std::string_view reason) const;

    // --- its end ---
    /// Blocks until the run has succeeded, and returns its output. Throws ExecutionFailed if the
    /// run ended as ERROR, run_cancelled, run_deleted; wait_timeout after `timeout`, and
    /// wait_stopped when `stop` is requested: neither affects the run. Duration::max() means no
    /// limit.
    Json wait_json(Duration timeout, const std::stop_token& stop = {}) const;
    /// The same, with the output as a T. T void ignores the output. Throws serialization_error if
    /// the output is not a T.
    template <class T = Json>
    T wait(Duration timeout, const std::stop_token& stop = {}) const {
        return detail::decode<T>(wait_json(timeout, stop), [this] {
            return "the output of run " + std::to_string(id_.value());
        });
    }
    /// The same without a time limit.
    template <class T = Json>
    T wait(const std::stop_token& stop) const {
        return wait<T>(Duration::max(), stop);
    }
    /// The output of a run that has succeeded. Throws like wait(), without waiting.
    template <class T = Json>
    [[nodiscard]] T output() const {
        return wait<T>(Duration::zero());
    }
    /// Calls `callback` once, on a thread of the library, when the run has ended; also if it has
    /// ended already. Returns immediately. Callbacks of a store run one at a time: they should be
    /// short, and an exception is only logged. None begins after the last handle of the store is
    /// gone; a callback that owns a handle keeps the store open until it was called.
    void on_end(std::function<void(const RunInfo&)> callback) const;

private:
    friend struct detail::Access;
    Run(std::shared_ptr<engine::OpenStore> store, RunId id, bool created = false)
        : store_(std::move(store)), id_(id), created_(created) {}

    std::shared_ptr<engine::OpenStore> store_;
    RunId id_;
    bool created_;
};

/// A handle of a run whose result type is known: R, or void if the run has no result. It converts
/// to a Run. wait<T>() reads the output as another type.
template <class R>
class RunOf : public Run {
public:
    /// A run whose result is known to be an R.
    explicit RunOf(Run run) : Run(std::move(run)) {}
    /// See Run::wait().
    template <class T = R>
    T wait(Duration timeout, const std::stop_token& stop = {}) const {
        return Run::wait<T>(timeout, stop);
    }
    /// The same without a time limit.
    template <class T = R>
    T wait(const std::stop_token& stop) const {
        return Run::wait<T>(stop);
    }
    /// See Run::output().
    template <class T = R>
    [[nodiscard]] T output() const {
        return Run::output<T>();
    }
};

}  // namespace pawl::inline v0
