// Flows: workflows that are declared as steps with dependencies. A step starts when all of its
// dependencies have finished. It is executed as one task, a map step as one task per array element.
//
//   pawl::flow("web_analysis")
//       .step("fetch_url")
//       .step("analyze_text", {"fetch_url"})
//       .map("resize", "list_images")
//       .create(store);
//   auto run = pawl::flow("web_analysis").start(params).execute(store);
//
// A run of a flow is a run: wait, cancel, lists, events, metrics, idempotency keys and priorities
// work the same.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pawl/callable.h>
#include <pawl/codec.h>
#include <pawl/context.h>
#include <pawl/run.h>
#include <pawl/types.h>
#include <pawl/workflow.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::runtime {
class TaskExecution;
}

namespace pawl::inline v0 {

class Store;

/// single: one task. map: one task per element of an array.
enum class StepType { single, map };
/// The name: "single", "map".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(StepType type);

/// What happens to a step whose condition is not met. skip: its dependents run without its output.
/// skip_cascade: all steps that depend on it are skipped too. fail: the run fails.
enum class WhenUnmet { skip, skip_cascade, fail };
/// The name: "skip", "skip-cascade", "fail".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(WhenUnmet what);

/// What happens to a step if one of its tasks has used all attempts. fail: the run fails. skip,
/// skip_cascade: see WhenUnmet.
enum class WhenExhausted { fail, skip, skip_cascade };
/// The name: "fail", "skip", "skip-cascade".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(WhenExhausted what);

/// The options of a flow. On an existing flow only the fields that are set are changed. SQL uses
/// pgflow's names: base_delay for backoff_base, timeout for task_timeout.
struct FlowOptions {
    std::optional<int> max_attempts = {};  ///< starts of a task; default 3; 0 and 1 mean no retry
    /// A retry waits backoff_base * 2^attempts; default 5 s.
    std::optional<Duration> backoff_base = {};
    /// The time limit of one attempt. A worker requests the handler's stop_token and reports a
    /// failed attempt; the next one starts after the backoff. A task polled by hand is delivered
    /// again 2 s after the limit. Default 60 s; 0 means no limit.
    std::optional<Duration> task_timeout = {};
};

/// The options of one step of a flow.
struct FlowStepOptions {
    std::optional<int> max_attempts = {};       ///< default: the flow's
    std::optional<Duration> backoff_base = {};  ///< default: the flow's
    std::optional<Duration> task_timeout = {};  ///< 0 means no limit, whatever the flow's is
    Duration start_delay{0};  ///< between the end of the last dependency and the start
    /// The step's input must contain this JSON value, in the sense of PostgreSQL's jsonb @>. For a
    /// root step this is the run's input; for other steps, the object of its dependencies' outputs.
    std::optional<Json> required_input_pattern = {};
    /// The step's input must not contain this JSON value.
    std::optional<Json> forbidden_input_pattern = {};
    WhenUnmet when_unmet = WhenUnmet::skip;  ///< if one of the patterns does not hold
    WhenExhausted when_exhausted = WhenExhausted::fail;
    friend bool operator==(const FlowStepOptions&, const FlowStepOptions&) = default;
};

/// One step of a flow, as it is declared.
struct FlowStep {
    std::string slug;
    StepType type = StepType::single;
    std::vector<std::string> deps = {};  ///< the steps that it waits for, declared before it
    FlowStepOptions options = {};
};

/// The declaration of a flow. If it was read from the store, all options have values, and
/// dependencies are in the order of declaration.
struct FlowShape {
    std::string slug;
    FlowOptions options = {};
    std::vector<FlowStep> steps = {};
};
/// The same JSON as SQL's get_flow_shape: slug, max_attempts, base_delay, timeout, and steps, each
/// with slug, step_type, deps and its options. Times are in seconds; unset fields are left out.
/// Throws invalid_argument for a pattern that is not JSON or a name that is not UTF-8.
[[nodiscard]] PAWL_EXPORT Json to_json(const FlowShape& shape);
/// The reverse. Throws invalid_argument, which names the bad field.
[[nodiscard]] PAWL_EXPORT FlowShape to_flow_shape(const Json& json);

/// What ensure_flow() did.
enum class EnsuredFlow { created, same, recreated };
/// The name: "created", "same", "recreated".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(EnsuredFlow what);
/// What ensure_flow() does with a flow that is declared differently. force is for development: the
/// flow is deleted with its runs and created again.
enum class EnsureMode { refuse_different, force };
/// The name: "refuse-different", "force".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(EnsureMode mode);

/// queued: to be started, possibly again. running: started. The others are final.
enum class TaskStatus { queued, running, success, error, skipped, cancelled };
/// The name, the same as in SQL: "QUEUED", "RUNNING", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(TaskStatus status);

/// Names a task of a run.
struct TaskRef {
    RunId run;
    std::string step;
    int task_index = 0;  ///< from 0; 0 for a step that is not a map
    friend bool operator==(const TaskRef&, const TaskRef&) = default;
};

/// A task as it is stored. The tasks of a step are created when its last dependency finishes.
struct TaskInfo {
    TaskRef task;
    TaskStatus status = TaskStatus::queued;
    MessageId message;           ///< the same for all attempts; removed when the task ends
    int attempts = 0;            ///< number of starts
    int delivery = 0;            ///< at the last start
    WorkerId worker;             ///< at the last start
    std::optional<Json> input;   ///< for a task of a map: its element
    std::optional<Json> output;  ///< the result of a successful task
    std::string error;           ///< of the last failed attempt
    Timestamp queued_at;
    std::optional<Timestamp> started_at;
    std::optional<Timestamp> completed_at;  ///< when it ended, with any status
};

/// A task that is leased to the caller, to be completed or failed by its delivery.
struct Task {
    TaskRef task;
    std::string flow;
    /// `{"run": the run's input, "DEPENDENCY": its output, ...}`; for a map: the element.
    Json input;
    MessageId message;
    int attempts = 0;         ///< number of starts, this one included
    int delivery = 0;         ///< the fencing token: pass it to complete_task() and fail_task()
    Timestamp lease_ends_at;  ///< another caller may get the task then
};

/// The outcome of a report about a task. Only `done` changes anything.
enum class TaskOutcome {
    done,          ///< recorded, and durable
    finished,      ///< the task has its result already
    cancelled,     ///< its run was cancelled, or has failed
    lease_lost,    ///< the task was delivered again in the meantime
    not_running,   ///< the task waits for its next attempt
    unknown_task,  ///< no such run, step or task
};
/// The name: "done", "finished", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(TaskOutcome outcome);

/// The task that a handler executes. The worker extends its lease while the handler runs. Valid
/// until the handler returns. May be used from several threads. No call does I/O.
class PAWL_EXPORT TaskContext {
public:
    TaskContext(const TaskContext&) = delete;
    TaskContext& operator=(const TaskContext&) = delete;

    /// The task that is executed.
    [[nodiscard]] RunId run_id() const;
    [[nodiscard]] const std::string& flow() const;  ///< its slug
    [[nodiscard]] const std::string& step() const;  ///< its slug
    [[nodiscard]] int task_index() const;           ///< from 0
    [[nodiscard]] int attempt() const;              ///< from 1
    [[nodiscard]] int delivery() const;             ///< the fencing token
    [[nodiscard]] const Json& input() const;        ///< see Task::input
    /// Requested when the task's time has elapsed, its lease is lost, its run has ended, or the
    /// worker stops. Long-running handlers should check it.
    [[nodiscard]] std::stop_token stop_token() const;
    /// True if no result of the task will be recorded any more.
    [[nodiscard]] bool cancelled() const;
    void log(LogLevel level, std::string_view message) const;  ///< to the store's log hook

private:
    friend struct detail::Access;
    explicit TaskContext(runtime::TaskExecution& execution) : execution_(execution) {}
    runtime::TaskExecution& execution_;
};

/// The function of a task as the engine sees it: JSON in, JSON out.
using TaskHandler = std::function<Json(TaskContext&, const Json&)>;

namespace detail {

/// Throws for the exception that is being handled, with a description of the task's input.
[[noreturn]] PAWL_EXPORT void refuse_task_input(const TaskContext& context, const Json& input);

struct DecodeTaskInput {
    template <class Input>
    Input operator()(const TaskContext& context, const Json& json) const {
        try {
            return JsonCodec<Input>::decode(json);
        } catch (...) {
            refuse_task_input(context, json);
        }
    }
};

}  // namespace detail

/// Wraps a function that takes (TaskContext&), (TaskContext&, In) or (TaskContext&, const In&) and
/// returns void or anything that has a JSON form. With In = pawl::Json the function gets the text
/// as it is. In is deduced, or named if that is impossible: make_task_handler<In>(generic lambda).
template <class In = detail::Deduced, class F>
TaskHandler make_task_handler(F function) {
    return detail::make_handler<TaskContext, In>(std::move(function), detail::DecodeTaskInput{});
}

/// The handlers of a flow's steps: functions, or workflows whose runs do the work. It is a value:
/// see pawl.h for its thread safety.
class FlowHandlers {
public:
    /// @{
    /// The function of a step: see make_task_handler(). If it returns, the task has succeeded; if
    /// it throws, the attempt has failed. It may be called from several threads at the same time.
    template <class In = detail::Deduced, class F>
    FlowHandlers& on(std::string_view step, F function) & {
        handlers_[std::string(step)].function =
            detail::make_handler<TaskContext, In>(std::move(function), detail::DecodeTaskInput{});
        return *this;
    }
    template <class In = detail::Deduced, class F>
    FlowHandlers on(std::string_view step, F function) && {
        return std::move(this->template on<In>(step, std::move(function)));
    }
    /// @}

    /// @{
    /// Each task of the step is a run of the workflow with the task's input, and ends as that run.
    FlowHandlers& on(std::string_view step, const WorkflowRef& workflow) & {
        handlers_[std::string(step)].workflow = workflow.name();
        return *this;
    }
    FlowHandlers on(std::string_view step, const WorkflowRef& workflow) && {
        return std::move(on(step, workflow));
    }
    /// @}

    /// The handler of one step.
    struct Entry {
        TaskHandler function = {};
        std::string workflow = {};  ///< instead of `function`
    };
    [[nodiscard]] const std::map<std::string, Entry>& entries() const {
        return handlers_;
    }  ///< by step

private:
    std::map<std::string, Entry> handlers_;
};

/// Declares a flow: its options, its steps and, for a worker, their handlers. It is a value: copy
/// it, keep it (see pawl.h for its thread safety). Only create() does I/O, and wrong declarations
/// are reported there.
class PAWL_EXPORT Flow {
public:
    /// A flow without steps.
    explicit Flow(std::string_view slug) { shape_.slug = slug; }

    // One setter per field of FlowOptions. A setter changes a named flow in place and moves a
    // temporary one, so that `auto&& f = pawl::flow("shop").step("price");` does not dangle.
    /// @{
    /// Sets the option of that name: see FlowOptions.
    Flow& max_attempts(int value) & { return set(&FlowOptions::max_attempts, value); }
    Flow max_attempts(int value) && { return std::move(max_attempts(value)); }
    Flow& backoff_base(Duration value) & { return set(&FlowOptions::backoff_base, value); }
    Flow backoff_base(Duration value) && { return std::move(backoff_base(value)); }
    Flow& task_timeout(Duration value) & { return set(&FlowOptions::task_timeout, value); }
    Flow task_timeout(Duration value) && { return std::move(task_timeout(value)); }
    /// @}

    /// @{
    /// pgflow's names of backoff_base() and task_timeout().
    Flow& base_delay(Duration value) & { return backoff_base(value); }
    Flow base_delay(Duration value) && { return std::move(backoff_base(value)); }
    Flow& timeout(Duration value) & { return task_timeout(value); }
    Flow timeout(Duration value) && { return std::move(task_timeout(value)); }
    /// @}

    /// @{
    /// Adds a step that starts when all of `deps`, which are declared before it, have finished.
    Flow& step(
        std::string_view slug, std::vector<std::string> deps = {}, FlowStepOptions options = {}
    ) & {
        shape_.steps.push_back(
            {std::string(slug), StepType::single, std::move(deps), std::move(options)}
        );
        return *this;
    }
    Flow step(
        std::string_view slug, std::vector<std::string> deps = {}, FlowStepOptions options = {}
    ) && {
        return std::move(step(slug, std::move(deps), std::move(options)));
    }
    /// @}

    /// @{
    /// One task per element of the output of `dep`, or of the run's input if `dep` is empty.
    Flow& map(std::string_view slug, std::string_view dep = {}, FlowStepOptions options = {}) & {
        std::vector<std::string> deps;
        if (!dep.empty()) deps.emplace_back(dep);
        shape_.steps.push_back(
            {std::string(slug), StepType::map, std::move(deps), std::move(options)}
        );
        return *this;
    }
    Flow map(std::string_view slug, std::string_view dep = {}, FlowStepOptions options = {}) && {
        return std::move(map(slug, dep, std::move(options)));
    }
    /// @}

    /// @{
    /// The handler of a step, a function or a workflow, for WorkerBuilder::flow(): see
    /// FlowHandlers.
    template <class In = detail::Deduced, class F>
    Flow& on(std::string_view step, F function) & {
        if constexpr (std::same_as<F, WorkflowRef>) {
            handlers_.on(step, function);
        } else {
            handlers_.template on<In>(step, std::move(function));
        }
        return *this;
    }
    template <class In = detail::Deduced, class F>
    Flow on(std::string_view step, F function) && {
        return std::move(this->template on<In>(step, std::move(function)));
    }
    /// @}

    /// @{
    /// Stores the declaration, in one transaction. On an existing flow it changes the options that
    /// are set and adds new steps; a step that differs from the stored one is refused
    /// (flow_mismatch). Returns after the commit. Throws invalid_argument too.
    Flow& create(const Store& store) &;
    Flow create(const Store& store) && { return std::move(create(store)); }
    /// @}

    /// A run of the flow with this input, to be executed: see TriggerOf.
    [[nodiscard]] Trigger start(Json input = {}) const {
        return Trigger(NewRun{shape_.slug, std::move(input), {}, true});
    }
    /// The same with a typed value. Needs <pawl/json.h>.
    template <class T>
    [[nodiscard]] Trigger start(const T& input) const {
        return start(Json(detail::encode(input)));
    }

    /// What create() stores.
    [[nodiscard]] const FlowShape& shape() const { return shape_; }
    /// The handlers that on() set.
    [[nodiscard]] const FlowHandlers& handlers() const { return handlers_; }

private:
    template <class Member, class Value>
    Flow& set(Member member, Value value) {
        shape_.options.*member = std::move(value);
        return *this;
    }

    FlowShape shape_;
    FlowHandlers handlers_;
};
/// A declaration, or the flow of that name: pawl::flow("shop").start(order).execute(store). A slug
/// has 1 to 128 letters, digits and '_', and does not start with a digit; "run" is reserved.
[[nodiscard]] inline Flow flow(std::string_view slug) {
    return Flow(slug);
}

}  // namespace pawl::inline v0
