// A run: one execution of a workflow, as the store knows it, and the steps recorded in it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <pawl/error.h>
#include <pawl/stats.h>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

namespace seam {
class Backend;
}

/// success, error and cancelled are final: they never change.
enum class RunStatus { queued, running, paused, success, error, cancelled };
[[nodiscard]] std::string_view to_string(RunStatus status);  ///< QUEUED, RUNNING, ...: as in SQL
[[nodiscard]] constexpr bool is_finished(RunStatus status) {
    return status == RunStatus::success || status == RunStatus::error ||
           status == RunStatus::cancelled;
}

enum class StepStatus { pending, running, paused, success, error, skipped, cancelled };
[[nodiscard]] std::string_view to_string(StepStatus status);

/// A step as it is recorded. A step that is executed for the first time, and quickly, has no record
/// before its result.
struct StepInfo {
    std::string id;    ///< the name given; its second use in a run is "name#2"
    int position = 0;  ///< the order in which the run came to its steps
    StepStatus status = StepStatus::pending;
    int attempt = 0;   ///< how often its body was executed, as far as that was recorded
    int delivery = 0;  ///< of the run, when this was recorded; 0: taken over from another run
    WorkerId worker;
    std::optional<Json> input;    ///< where StepOptions::input gave one
    std::optional<Json> output;   ///< of a successful one
    std::optional<Json> error;    ///< {"type", "message", "step", "attempt"}, of the last failure
    std::string pause_message;    ///< of a paused one: what it waits for, in words
    std::string pause_condition;  ///< and as the program put it (PauseError)
    std::optional<Timestamp> wake_at;     ///< of a sleep: the end
    std::optional<Timestamp> started_at;  ///< of a flow's step: when its tasks were made
    std::optional<Timestamp> completed_at;

    // Of a flow's steps.
    std::optional<int> remaining_deps;   ///< dependencies that are not done
    std::optional<int> initial_tasks;    ///< how many it has; none before it starts
    std::optional<int> remaining_tasks;  ///< of these, not succeeded
    std::string skip_reason;             ///< condition_unmet, handler_failed or dependency_skipped
};

struct RunInfo {
    RunId id;
    std::string workflow;
    RunStatus status = RunStatus::queued;
    int priority = 0;
    std::optional<int> max_attempts;  ///< where the trigger gave one
    int delivery = 0;                 ///< how often it was handed to a worker
    int strikes = 0;                  ///< hand-outs since the last report
    int attempts = 0;       ///< failures outside of steps since the last recorded progress
    WorkerId worker;        ///< the last one that worked on it
    RunId parent;           ///< the run that triggered it, where the trigger named one
    RunId origin;           ///< what it is a retry or a fork of
    std::string forked_at;  ///< of a fork: the first step that was not taken over
    std::optional<std::string> idempotency_key;
    std::vector<std::string> tags;
    Json input;
    std::optional<Json> output;
    std::optional<Json> error;  ///< {"type", "message", "step", "attempt"}
    std::string last_error;     ///< one readable line; also while it is still being retried
    std::optional<int> remaining_steps;   ///< of a flow: steps neither succeeded nor skipped
    std::optional<Timestamp> visible_at;  ///< of a live one: when it goes on, or its lease ends
    Timestamp created_at;
    Timestamp updated_at;
    std::optional<Timestamp> started_at;
    std::optional<Timestamp> paused_at;
    std::optional<Timestamp> completed_at;
    std::optional<Timestamp> deleted_at;
    std::string deleted_reason;

    /// The output as a T. Throws Error(serialization_error). Needs <pawl/json.h>.
    template <class T>
    [[nodiscard]] T output_as() const {
        return JsonCodec<T>::decode(output.value_or(Json{}));
    }
};

/// What happened to a run that its rows do not show any more: retries, failures, manual actions.
struct RunEvent {
    std::int64_t id = 0;
    RunId run;
    std::string kind;
    Json data;
    WorkerId worker;
    int delivery = 0;
    Timestamp at;
};

/// One thing that became of a run: told by a row or by an event, and once. docs/history.md lists
/// the kinds.
struct HistoryEntry {
    Timestamp at;
    std::string kind;               ///< as of events: triggered, started, step_succeeded, ...
    std::string step;               ///< "": of the run itself
    std::optional<int> task_index;  ///< of a flow's task
    int attempt = 0;                ///< of the step or the task; 0: says nothing
    int delivery = 0;               ///< of the run's message, or the task's; 0: says nothing
    WorkerId worker;
    std::string text;  ///< one readable line
    Json data;         ///< what the row or the event has: input, output, error, ...
};

/// All that is given must hold.
struct RunFilter {
    std::optional<std::string> workflow = {};
    std::optional<RunStatus> status = {};
    std::optional<Timestamp> created_from = {};    ///< inclusive
    std::optional<Timestamp> created_before = {};  ///< exclusive
    std::optional<std::string> tag = {};
    std::optional<std::string> idempotency_key = {};
    bool include_deleted = false;
};

/// Newest first. Keyset paging: pass the last id seen as `before` to get the next page.
struct RunPage {
    RunId before = {};
    int limit = 100;
};

/// What Store::count_runs() found.
struct RunCounts {
    Count queued;
    Count running;
    Count paused;
    Count success;
    Count error;
    Count cancelled;
};

/// Thrown by wait() when the run ended as ERROR.
class ExecutionFailed : public Error {
public:
    ExecutionFailed(RunId run, const std::string& message, Json error)
        : Error(ErrorCode::execution_failed, message), run_(run), error_(std::move(error)) {}
    [[nodiscard]] RunId run() const { return run_; }
    [[nodiscard]] const Json& error() const { return error_; }  ///< as RunInfo::error

private:
    RunId run_;
    Json error_;
};

struct ResumeOptions {
    /// Accepts a resume for a step at which the run does not wait yet: the data is kept and used
    /// when the run pauses there. Without it such a resume is refused (step_not_waiting), because
    /// mostly the name of the step is wrong.
    bool early = false;
};

/// A handle: cheap to copy, asks the store whenever it is asked.
class Run {
public:
    Run(std::shared_ptr<seam::Backend> backend, RunId id, bool created = false)
        : backend_(std::move(backend)), id_(id), created_(created) {}

    [[nodiscard]] RunId id() const { return id_; }
    /// False when the idempotency key had been used before: this is the earlier run.
    [[nodiscard]] bool created() const { return created_; }

    [[nodiscard]] RunInfo info() const;  ///< throws run_not_found
    [[nodiscard]] RunStatus status() const { return info().status; }
    [[nodiscard]] std::vector<StepInfo> steps() const;

    /// Returns when the run has succeeded. Throws ExecutionFailed, run_cancelled, run_deleted,
    /// run_not_found; wait_timeout when the time is over, which does not touch the run.
    /// Duration::max() waits for ever.
    Json wait_json(Duration timeout) const;
    template <class T = Json>
    T wait(Duration timeout) const {
        return JsonCodec<T>::decode(wait_json(timeout));
    }
    /// The output of a run that has succeeded; throws as wait() does, without waiting.
    template <class T = Json>
    [[nodiscard]] T output() const {
        return wait<T>(Duration::zero());
    }

private:
    std::shared_ptr<seam::Backend> backend_;
    RunId id_;
    bool created_;
};

/// A handle of a run whose result type is known.
template <class R>
class RunOf : public Run {
public:
    explicit RunOf(Run run) : Run(std::move(run)) {}
    R wait(Duration timeout) const { return Run::wait<R>(timeout); }
    [[nodiscard]] R output() const { return Run::output<R>(); }
};
template <>
class RunOf<void> : public Run {
public:
    explicit RunOf(Run run) : Run(std::move(run)) {}
    void wait(Duration timeout) const { (void)wait_json(timeout); }
};

}  // namespace pawl
