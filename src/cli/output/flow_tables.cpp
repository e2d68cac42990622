#include "cli/output/flow_tables.h"

#include <algorithm>
#include <fmt/format.h>

#include "cli/frame/literals.h"
#include "cli/frame/value_parsers.h"
#include "cli/output/run_tables.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

constexpr std::size_t most_tasks = 100;  // in one table for people

std::string number_text(const std::optional<int>& number) {
    return number ? std::to_string(*number) : "-";
}
std::string duration_text(const std::optional<Duration>& duration) {
    return duration ? short_duration(*duration) : "-";
}
std::string timeout_text(const std::optional<Duration>& timeout) {
    return timeout && *timeout == 0ms ? "none" : duration_text(timeout);
}
std::string joined(const std::vector<std::string>& slugs) {
    return or_dash(fmt::format("{}", fmt::join(slugs, ", ")));
}

// "has {"a":1}, not {"b":2}: else skip"
std::string condition(const FlowStepOptions& options) {
    std::vector<std::string> parts;
    if (options.required_input_pattern)
        parts.push_back("has " + options.required_input_pattern->text);
    if (options.forbidden_input_pattern)
        parts.push_back("not " + options.forbidden_input_pattern->text);
    if (parts.empty()) return "-";
    return fmt::format("{}; else {}", fmt::join(parts, ", "), to_string(options.when_unmet));
}

// "1 of 3" tasks are done; "-" before the step has started.
std::string progress(const StepInfo& step) {
    if (!step.initial_tasks) return "-";
    const int done = *step.initial_tasks - step.remaining_tasks.value_or(0);
    return fmt::format("{} of {}", done, *step.initial_tasks);
}

// The output of the step, why it has none, or what it waits for.
std::string result_in_flow(const StepInfo& step) {
    if (!step.skip_reason.empty())
        return step.error ? step.skip_reason + ": " + step.error->text : step.skip_reason;
    if (step.output) return step.output->text;
    if (step.error) return step.error->text;
    const int waits_for = step.remaining_deps.value_or(0);
    if (step.status != StepStatus::pending || waits_for == 0) return "-";
    return fmt::format("waits for {} step{}", waits_for, waits_for == 1 ? "" : "s");
}

// The error of a failed attempt stays with the task; if it succeeded later, the output counts.
std::string result_in_flow(const TaskInfo& task) {
    if (task.output) return task.output->text;
    return or_dash(task.error);
}

bool is_notable(const TaskInfo& task) {
    using enum TaskStatus;
    return task.status == running || task.status == error || !task.error.empty();
}

}  // namespace

std::string flow_settings(const FlowOptions& options) {
    return fmt::format(
        "max attempts {}, backoff base {}, timeout {}",
        number_text(options.max_attempts),
        duration_text(options.backoff_base),
        timeout_text(options.task_timeout)
    );
}

std::string flow_shape_table(const View& view, const FlowShape& shape) {
    Table table(
        {{"#", Align::right},
         Column{"STEP"}.cut_to(16),
         {"TYPE"},
         Column{"AFTER"}.cut_to(12),
         Column{"ATTEMPTS", Align::right}.left_out(5),
         Column{"BACKOFF BASE", Align::right}.left_out(2),
         Column{"TIMEOUT", Align::right}.left_out(4),
         Column{"START DELAY", Align::right}.left_out(1),
         Column{"EXHAUSTED"}.left_out(3),
         Column{"CONDITION"}.cut_to(16)}
    );
    for (std::size_t i = 0; i < shape.steps.size(); ++i) {
        const auto& step = shape.steps[i];
        const auto& options = step.options;
        table.add(
            {std::to_string(i),
             step.slug,
             std::string(to_string(step.type)),
             joined(step.deps),
             number_text(options.max_attempts),
             duration_text(options.backoff_base),
             timeout_text(options.task_timeout),
             options.start_delay == 0ms ? "-" : short_duration(options.start_delay),
             std::string(to_string(options.when_exhausted)),
             condition(options)}
        );
    }
    return table.text(view);
}

std::vector<std::string> dependencies(const FlowShape& flow, const std::string& step) {
    const auto found = std::ranges::find(flow.steps, step, &FlowStep::slug);
    return found == flow.steps.end() ? std::vector<std::string>() : found->deps;
}

std::string flow_step_table(
    const View& view, const RunInfo& run, const std::vector<StepInfo>& steps, const FlowShape& flow
) {
    Table table(
        {{"#", Align::right},
         Column{"STEP"}.cut_to(16),
         Column{"AFTER"}.left_out(1).cut_to(10),
         Column{"STATUS"}.status(),
         {"TASKS", Align::right},
         Column{"STARTED", Align::right}.left_out(2),
         {"TOOK", Align::right},
         Column{"RESULT"}.cut_to(24)}
    );
    for (const auto& step : steps) {
        table.add(
            {std::to_string(step.position),
             step.id,
             joined(dependencies(flow, step.id)),
             std::string(to_string(step.status)),
             progress(step),
             since_start(run, step.started_at),
             took(step.started_at, step.completed_at),
             result_in_flow(step)}
        );
    }
    return table.text(view);
}

std::string task_table(
    const View& view, const RunInfo& run, const std::vector<TaskInfo>& tasks, WorkerNames& workers
) {
    Table table(
        {Column{"TASK"}.cut_to(16),
         {"INDEX", Align::right},
         Column{"STATUS"}.status(),
         Column{"ATTEMPTS", Align::right}.left_out(5),
         Column{"DELIVERY", Align::right}.left_out(2),
         Column{"WORKER"}.left_out(3),
         Column{"QUEUED", Align::right}.left_out(1),
         Column{"STARTED", Align::right}.left_out(4),
         {"TOOK", Align::right},
         Column{"RESULT"}.cut_to(24)}
    );
    std::size_t shown = 0;
    for (const auto& task : tasks) {
        if (tasks.size() > most_tasks && (shown == most_tasks || !is_notable(task))) continue;
        ++shown;
        table.add(
            {task.task.step,
             std::to_string(task.task.task_index),
             std::string(to_string(task.status)),
             std::to_string(task.attempts),
             std::to_string(task.delivery),
             workers.of(task.worker),
             since_start(run, task.queued_at),
             since_start(run, task.started_at),
             took(task.started_at, task.completed_at),
             result_in_flow(task)}
        );
    }
    auto text = table.empty() ? std::string() : table.text(view);
    if (shown < tasks.size())
        text += fmt::format(
            "{} of {} tasks are not shown; --json prints all\n", tasks.size() - shown, tasks.size()
        );
    return text;
}

std::string polled_table(const std::vector<Task>& tasks) {
    Table table(
        {{"RUN", Align::right},
         {"STEP"},
         {"INDEX", Align::right},
         {"ATTEMPT", Align::right},
         {"DELIVERY", Align::right},
         {"INPUT"}}
    );
    for (const auto& task : tasks) {
        table.add(
            {std::to_string(task.task.run.value()),
             task.task.step,
             std::to_string(task.task.task_index),
             std::to_string(task.attempts),
             std::to_string(task.delivery),
             task.input.text}
        );
    }
    return table.text(View{.full = true});
}

}  // namespace pawl::cli
