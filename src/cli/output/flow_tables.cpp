#include "cli/output/flow_tables.h"

#include <algorithm>
#include <fmt/format.h>

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

// "1 of 3": done and all; nothing before the step has started.
std::string progress(const StepInfo& step) {
    if (!step.initial_tasks) return "-";
    const int done = *step.initial_tasks - step.remaining_tasks.value_or(0);
    return fmt::format("{} of {}", done, *step.initial_tasks);
}

// What the step gave, why it gave nothing, or what it waits for.
std::string result_in_flow(const StepInfo& step) {
    if (!step.skip_reason.empty())
        return step.error ? step.skip_reason + ": " + step.error->text : step.skip_reason;
    if (step.output) return step.output->text;
    if (step.error) return step.error->text;
    const int waits_for = step.remaining_deps.value_or(0);
    if (step.status != StepStatus::pending || waits_for == 0) return "-";
    return fmt::format("waits for {} step{}", waits_for, waits_for == 1 ? "" : "s");
}

// A failed attempt's error stays on the task; of one that succeeded later nobody asks for it.
std::string result_in_flow(const TaskInfo& task) {
    if (task.output) return task.output->text;
    return or_dash(task.error);
}

bool tells_something(const TaskInfo& task) {
    using enum TaskStatus;
    return task.status == running || task.status == error || !task.error.empty();
}

}  // namespace

std::string flow_settings(const FlowOptions& options) {
    return fmt::format(
        "max attempts {}, base delay {}, timeout {}",
        number_text(options.max_attempts),
        duration_text(options.base_delay),
        timeout_text(options.timeout)
    );
}

std::string flow_shape_table(const FlowShape& shape) {
    Table table(
        {{"#", Align::right},
         {"STEP"},
         {"TYPE"},
         {"AFTER"},
         {"ATTEMPTS", Align::right},
         {"BASE DELAY", Align::right},
         {"TIMEOUT", Align::right},
         {"START DELAY", Align::right},
         {"EXHAUSTED"},
         {"CONDITION"}}
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
             duration_text(options.base_delay),
             timeout_text(options.timeout),
             options.start_delay == 0ms ? "-" : short_duration(options.start_delay),
             std::string(to_string(options.when_exhausted)),
             condition(options)}
        );
    }
    return table.text(terminal_width());
}

std::vector<std::string> dependencies(const FlowShape& flow, const std::string& step) {
    const auto found = std::ranges::find(flow.steps, step, &FlowStep::slug);
    return found == flow.steps.end() ? std::vector<std::string>() : found->deps;
}

std::string flow_step_table(
    const RunInfo& run, const std::vector<StepInfo>& steps, const FlowShape& flow
) {
    Table table(
        {{"#", Align::right},
         {"STEP"},
         {"AFTER"},
         {"STATUS"},
         {"TASKS", Align::right},
         {"STARTED", Align::right},
         {"TOOK", Align::right},
         {"RESULT"}}
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
    return table.text(terminal_width());
}

std::string task_table(
    const RunInfo& run, const std::vector<TaskInfo>& tasks, WorkerNames& workers
) {
    Table table(
        {{"TASK"},
         {"INDEX", Align::right},
         {"STATUS"},
         {"ATTEMPTS", Align::right},
         {"DELIVERY", Align::right},
         {"WORKER"},
         {"QUEUED", Align::right},
         {"STARTED", Align::right},
         {"TOOK", Align::right},
         {"RESULT"}}
    );
    std::size_t shown = 0;
    for (const auto& task : tasks) {
        if (tasks.size() > most_tasks && (shown == most_tasks || !tells_something(task))) continue;
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
    auto text = table.empty() ? std::string() : table.text(terminal_width());
    if (shown < tasks.size())
        text += fmt::format(
            "{} of {} tasks are not shown here: --json has all\n",
            tasks.size() - shown,
            tasks.size()
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
    return table.text(0);  // who takes a task wants all of it
}

}  // namespace pawl::cli
