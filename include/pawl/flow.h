// Flows: workflows that are declared as steps with dependencies. The engine runs a step when all it
// depends on is done; a step is worked as one task, a map step as one task per element of an array.
//
//   pawl::flow("web_analysis")
//       .step("fetch_url")
//       .step("analyze_text", {"fetch_url"})
//       .map("resize", "list_images")
//       .create(store);
//   auto run = pawl::flow("web_analysis").start(params).execute(store);
//
// A flow's run is a run: wait, cancel, lists, events, metrics, idempotency keys, priorities work on
// it unchanged.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <pawl/context.h>
#include <pawl/run.h>
#include <pawl/types.h>
#include <pawl/workflow.h>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl {

class Store;

namespace runtime {
class TaskExecution;
}

enum class StepType { single, map };
[[nodiscard]] std::string_view to_string(StepType type);  ///< single, map

/// What becomes of a step whose condition is not met. skip: dependents go on without its output;
/// skip_cascade: all that depends on it is skipped too; fail: the run fails.
enum class WhenUnmet { skip, skip_cascade, fail };
[[nodiscard]] std::string_view to_string(WhenUnmet what);  ///< skip, skip-cascade, fail

/// What becomes of a step one of whose tasks has used up its attempts.
enum class WhenExhausted { fail, skip, skip_cascade };
[[nodiscard]] std::string_view to_string(WhenExhausted what);

/// Only what is given is changed; create() on an existing flow keeps the rest.
struct FlowOptions {
    std::optional<int> max_attempts = {};  ///< starts of a task, 3 by default; 0 or 1: no retry
    std::optional<Duration> base_delay =
        {};  ///< default 5 s; a retry waits base_delay * 2^attempts
    /// Default 60 s: a task that takes longer is stopped, and given to another worker 2 s later at
    /// the latest. 0: none.
    std::optional<Duration> timeout = {};
};

/// What is not given is the flow's.
struct FlowStepOptions {
    std::optional<int> max_attempts = {};
    std::optional<Duration> base_delay = {};
    std::optional<Duration> timeout = {};  ///< 0: none, whatever the flow says
    Duration start_delay{0};               ///< between the last dependency and the step's start
    /// The step's input must contain this JSON value (as PostgreSQL's jsonb @> has it) ...
    std::optional<Json> required_input_pattern = {};
    /// ... and must not contain this one. The input is the run's for a root step, else the object
    /// of its dependencies' outputs.
    std::optional<Json> forbidden_input_pattern = {};
    WhenUnmet when_unmet = WhenUnmet::skip;
    WhenExhausted when_exhausted = WhenExhausted::fail;
    friend bool operator==(const FlowStepOptions&, const FlowStepOptions&) = default;
};

/// One step of a flow, as it is declared.
struct FlowStep {
    std::string slug;
    StepType type = StepType::single;
    std::vector<std::string> deps = {};  ///< declared before it
    FlowStepOptions options = {};
};

/// A flow as it is declared, or stored: then all options have values and deps are in the order in
/// which they were declared.
struct FlowShape {
    std::string slug;
    FlowOptions options = {};
    std::vector<FlowStep> steps = {};
};
/// What get_flow_shape gives in SQL: slug, max_attempts, base_delay, timeout, and steps, each with
/// slug, step_type, deps and its options. Times are in seconds; what has no value is left out.
[[nodiscard]] Json to_json(const FlowShape& shape);
/// Throws invalid_argument, which names what is wrong.
[[nodiscard]] FlowShape to_flow_shape(const Json& json);

/// What ensure_flow() found: nothing of that name, or the very same.
enum class EnsuredFlow { created, same, recreated };
/// force is for development: a different flow is deleted with its runs and made anew.
enum class EnsureMode { refuse_different, force };

enum class TaskStatus { queued, running, success, error, skipped, cancelled };
[[nodiscard]] std::string_view to_string(TaskStatus status);  ///< QUEUED, RUNNING, ...

/// Which task of a run.
struct TaskRef {
    RunId run;
    std::string step;
    int task_index = 0;
    friend bool operator==(const TaskRef&, const TaskRef&) = default;
};

/// A task as it is stored. A step's tasks exist from the moment all its dependencies are done.
struct TaskInfo {
    TaskRef task;
    TaskStatus status = TaskStatus::queued;
    MessageId message;  ///< the same over all attempts; gone from the queue when the task ends
    int attempts = 0;   ///< starts
    int delivery = 0;   ///< of the last start
    WorkerId worker;    ///< of the last start
    std::optional<Json> input;   ///< of a map's task: its element
    std::optional<Json> output;  ///< of a successful one
    std::string error;           ///< of the last failed attempt
    Timestamp queued_at;
    std::optional<Timestamp> started_at;
    std::optional<Timestamp> completed_at;  ///< whatever the end: see the status
};

/// A task in the caller's hands: polled, to be completed or failed by its delivery.
struct Task {
    TaskRef task;
    std::string flow;
    Json
        input;  ///< {"run": <the run's input>, "<dependency>": <its output>, ...}; a map's: element
    MessageId message;
    int attempts = 0;
    int delivery = 0;
    Timestamp lease_ends_at;
};

/// What became of a report about a task. All but done have changed nothing.
enum class TaskOutcome {
    done,
    finished,      ///< it has its result already
    cancelled,     ///< its run was cancelled, or has failed
    lease_lost,    ///< it was handed out again since
    not_running,   ///< it waits for its next attempt
    unknown_task,  ///< there is no such run, step or task
};
[[nodiscard]] std::string_view to_string(TaskOutcome outcome);

/// What a task's handler works with. Its lease is extended while it runs.
class TaskContext {
public:
    explicit TaskContext(runtime::TaskExecution& execution) : execution_(execution) {}
    TaskContext(const TaskContext&) = delete;
    TaskContext& operator=(const TaskContext&) = delete;

    [[nodiscard]] RunId run_id() const;
    [[nodiscard]] const std::string& flow() const;
    [[nodiscard]] const std::string& step() const;
    [[nodiscard]] int task_index() const;
    [[nodiscard]] int attempt() const;  ///< from 1
    [[nodiscard]] int delivery() const;
    [[nodiscard]] const Json& input() const;
    /// Requested when the task's time is over, its lease lost, its run at an end, or the worker
    /// stops.
    [[nodiscard]] std::stop_token stop_token() const;
    /// True when nothing of it will be recorded any more.
    [[nodiscard]] bool cancelled() const;
    void log(LogLevel level, std::string_view message) const;

private:
    runtime::TaskExecution& execution_;
};

/// A task's function as the engine sees it: JSON in, JSON out.
using TaskHandler = std::function<Json(TaskContext&, const Json&)>;

namespace detail {

// Called while the exception of the codec is handled: says what the task's input looks like.
[[noreturn]] void refuse_task_input(const TaskContext& context, const Json& input);

template <class Input>
Input decoded_task_input(const TaskContext& context, const Json& json) {
    try {
        return JsonCodec<Input>::decode(json);
    } catch (...) {
        refuse_task_input(context, json);
    }
}

}  // namespace detail

/// Wraps (TaskContext&), (TaskContext&, In) or (TaskContext&, const In&), returning anything that
/// converts to JSON, or void. In pawl::Json: the text as it is.
template <class F>
TaskHandler make_task_handler(F function) {
    if constexpr (std::invocable<F&, TaskContext&>) {
        return [function = std::move(function)](TaskContext& context, const Json&) mutable {
            return detail::encoded_result([&] { return function(context); });
        };
    } else {
        using Signature = detail::HandlerSignature<F>;
        static_assert(Signature::count == 2, "a task's function takes (TaskContext&, input)");
        using Input = std::remove_cvref_t<typename Signature::template Argument<1>>;
        return [function = std::move(function)](TaskContext& context, const Json& json) mutable {
            const Input input = detail::decoded_task_input<Input>(context, json);
            return detail::encoded_result([&] { return function(context, input); });
        };
    }
}

/// The functions of a flow's steps; or, for some, workflows whose runs do the work.
class FlowHandlers {
public:
    template <class F>
    FlowHandlers& on(std::string step, F function) {
        return handlers_[std::move(step)].function = make_task_handler(std::move(function)), *this;
    }
    /// Each task of the step is a run of the workflow, with the task's input, and ends as it does.
    FlowHandlers& on(std::string step, const WorkflowRef& workflow) {
        return handlers_[std::move(step)].workflow = workflow.name(), *this;
    }

    struct Entry {
        TaskHandler function = {};
        std::string workflow = {};  ///< instead of `function`
    };
    [[nodiscard]] const std::map<std::string, Entry>& entries() const { return handlers_; }

private:
    std::map<std::string, Entry> handlers_;
};

/// Declares a flow. Making one does no I/O.
class Flow {
public:
    explicit Flow(std::string slug) { shape_.slug = std::move(slug); }

    Flow& max_attempts(int value) { return shape_.options.max_attempts = value, *this; }
    Flow& base_delay(Duration value) { return shape_.options.base_delay = value, *this; }
    Flow& timeout(Duration value) { return shape_.options.timeout = value, *this; }

    Flow& step(std::string slug, std::vector<std::string> deps = {}, FlowStepOptions options = {}) {
        shape_.steps.push_back(
            {std::move(slug), StepType::single, std::move(deps), std::move(options)}
        );
        return *this;
    }
    /// One task per element of the output of `dep`; without one, of the run's input.
    Flow& map(std::string slug, const std::string& dep = {}, FlowStepOptions options = {}) {
        std::vector<std::string> deps;
        if (!dep.empty()) deps.push_back(dep);
        shape_.steps.push_back({std::move(slug), StepType::map, std::move(deps), std::move(options)}
        );
        return *this;
    }
    /// The function of a step, for worker.flow(): see FlowHandlers.
    template <class F>
    Flow& on(std::string step, F function) {
        return handlers_.on(std::move(step), std::move(function)), *this;
    }

    /// All of it in one transaction. On an existing flow: options that are given are changed, steps
    /// that are new are added; a step that differs from the stored one is refused (flow_mismatch).
    Flow& create(const Store& store);
    /// A run of it: a Trigger with all its options.
    [[nodiscard]] Trigger start(Json input = {}) const {
        return Trigger(NewRun{shape_.slug, std::move(input), {}, true});
    }
    template <class T>
    [[nodiscard]] Trigger start(const T& input) const {
        return start(Json(JsonCodec<T>::encode(input)));
    }

    [[nodiscard]] const FlowShape& shape() const { return shape_; }
    [[nodiscard]] const FlowHandlers& handlers() const { return handlers_; }

private:
    FlowShape shape_;
    FlowHandlers handlers_;
};
/// Slugs: 1 to 128 letters, digits and '_', not starting with a digit; "run" is reserved.
[[nodiscard]] inline Flow flow(std::string slug) {
    return Flow(std::move(slug));
}

}  // namespace pawl
