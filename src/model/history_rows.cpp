// Converts the rows of a run, and its events, into history entries.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/event_kinds.h"
#include "model/history.h"
#include "model/run_error.h"

namespace pawl::model {

namespace {

HistoryEntry new_entry(Timestamp at, std::string_view kind, Json data) {
    HistoryEntry entry;
    entry.at = at;
    entry.kind = kind;
    entry.data = std::move(data);
    return entry;
}

HistoryEntry new_entry(Timestamp at, EventKind kind, Json data = Json{"{}"}) {
    return new_entry(at, to_string(kind), std::move(data));
}

Json json_string(const std::string& text) {
    return Json{
        nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)};
}

EventKind end_kind(const RunInfo& run) {
    if (run.status == RunStatus::success) return EventKind::run_succeeded;
    if (run.status == RunStatus::cancelled) return EventKind::cancelled;
    const std::string type = run.error ? to_run_error(*run.error).type : std::string();
    for (const auto kind : {EventKind::poison, EventKind::no_handler_registered, EventKind::buried})
        if (type == to_string(kind)) return kind;
    return EventKind::run_failed;
}

void add_run(const RunInfo& run, std::vector<HistoryEntry>& entries) {
    entries.push_back(new_entry(run.created_at, EventKind::triggered, run.input));
    if (run.started_at) {
        HistoryEntry& started =
            entries.emplace_back(new_entry(*run.started_at, EventKind::started));
        if (!run.remaining_steps) started.delivery = 1;
    }
    if (run.completed_at) {
        HistoryEntry& end = entries.emplace_back(new_entry(*run.completed_at, end_kind(run)));
        end.delivery = run.delivery;
        if (run.status != RunStatus::cancelled) end.worker = run.worker;
        if (run.output) end.data = *run.output;
        if (run.error) end.data = *run.error;
    }
    if (run.deleted_at) {
        HistoryEntry& deleted =
            entries.emplace_back(new_entry(*run.deleted_at, EventKind::deleted));
        deleted.delivery = run.delivery;
        deleted.data = Json{R"({"reason":)" + json_string(run.deleted_reason).text + "}"};
    }
}

std::optional<EventKind> end_kind(StepStatus status) {
    switch (status) {
        case StepStatus::success:
            return EventKind::step_succeeded;
        case StepStatus::error:
            return EventKind::step_failed;
        case StepStatus::skipped:
            return EventKind::step_skipped;
        case StepStatus::cancelled:
            return EventKind::step_cancelled;
        case StepStatus::pending:
        case StepStatus::running:
        case StepStatus::paused:
            break;
    }
    return std::nullopt;
}

HistoryEntry of_step(const StepInfo& step, Timestamp at, EventKind kind, Json data) {
    HistoryEntry entry = new_entry(at, kind, std::move(data));
    entry.step = step.id;
    entry.attempt = step.attempt;
    entry.delivery = step.delivery;
    entry.worker = step.worker;
    return entry;
}

Json result_of(const StepInfo& step) {
    if (step.error) return *step.error;
    if (!step.skip_reason.empty())
        return Json{R"({"skip_reason":)" + json_string(step.skip_reason).text + "}"};
    return step.output.value_or(Json{"{}"});
}

bool has_event(const std::vector<RunEvent>& events, std::string_view step, EventKind kind) {
    return std::ranges::any_of(events, [&](const RunEvent& event) {
        return event.kind == to_string(kind) && entry_of_event(event).step == step;
    });
}

// The step of a flow has no delivery number. It was taken over if it ended before the run was
// created.
bool is_taken_over(const RunRows& rows, const StepInfo& step) {
    if (!rows.run.remaining_steps) return step.delivery == 0;
    const bool done = step.status == StepStatus::success || step.status == StepStatus::skipped;
    return rows.run.origin && done && step.completed_at &&
           *step.completed_at <= rows.run.created_at &&
           std::ranges::none_of(rows.tasks, [&](const TaskInfo& task) {
               return task.task.step == step.id && task.delivery > 0;
           });
}

void add_step(
    const StepInfo& step, const std::vector<RunEvent>& events, std::vector<HistoryEntry>& entries
) {
    const auto ended_as = end_kind(step.status);
    if (step.started_at) {
        entries.push_back(of_step(
            step, *step.started_at, EventKind::step_started, step.input.value_or(Json{"{}"})
        ));
        const EventKind waits =
            step.wake_at || step.pause_message.empty() ? EventKind::suspended : EventKind::paused;
        if (step.status == StepStatus::paused && !has_event(events, step.id, EventKind::paused) &&
            !has_event(events, step.id, EventKind::suspended)) {
            const RunError why{"pause", step.pause_message, step.id, step.attempt};
            entries.push_back(of_step(step, *step.started_at, waits, to_json(why)));
        }
    }
    if (ended_as && step.completed_at)
        entries.push_back(of_step(step, *step.completed_at, *ended_as, result_of(step)));
}

std::optional<EventKind> end_kind(TaskStatus status) {
    switch (status) {
        case TaskStatus::success:
            return EventKind::task_succeeded;
        case TaskStatus::error:
            return EventKind::task_failed;
        case TaskStatus::skipped:
            return EventKind::task_skipped;
        case TaskStatus::cancelled:
            return EventKind::task_cancelled;
        case TaskStatus::queued:
        case TaskStatus::running:
            break;
    }
    return std::nullopt;
}

void add_task(const TaskInfo& task, std::vector<HistoryEntry>& entries) {
    const auto add = [&](Timestamp at, EventKind kind, Json data) {
        HistoryEntry& entry = entries.emplace_back(new_entry(at, kind, std::move(data)));
        entry.step = task.task.step;
        entry.task_index = task.task.task_index;
        entry.attempt = task.attempts;
        entry.delivery = task.delivery;
        entry.worker = task.worker;
    };
    if (task.started_at)
        add(*task.started_at, EventKind::task_started, task.input.value_or(Json{"{}"}));
    const auto ended_as = end_kind(task.status);
    if (!ended_as || !task.completed_at) return;
    const bool failed = task.status == TaskStatus::error;
    add(*task.completed_at,
        *ended_as,
        failed ? json_string(task.error) : task.output.value_or(Json{"{}"}));
}

}  // namespace

std::vector<HistoryEntry> entries_of_rows(
    const RunRows& rows, const std::vector<RunEvent>& events
) {
    std::vector<HistoryEntry> entries;
    add_run(rows.run, entries);
    std::vector<std::string> taken_over;
    for (const StepInfo& step : rows.steps) {
        if (is_taken_over(rows, step)) {
            entries.push_back(
                of_step(step, rows.run.created_at, EventKind::step_taken_over, result_of(step))
            );
            taken_over.push_back(step.id);
        } else {
            add_step(step, events, entries);
        }
    }
    for (const TaskInfo& task : rows.tasks) {
        if (std::ranges::find(taken_over, task.task.step) == taken_over.end())
            add_task(task, entries);
    }
    return entries;
}

HistoryEntry entry_of_event(const RunEvent& event) {
    HistoryEntry entry = new_entry(event.at, event.kind, event.data);
    entry.delivery = event.delivery;
    entry.worker = event.worker;
    const auto data = nlohmann::json::parse(event.data.text, nullptr, false);
    if (!data.is_object()) return entry;
    const bool of_run = is(entry, EventKind::run_failed) || is(entry, EventKind::run_retry) ||
                        is(entry, EventKind::forked);
    if (const auto step = data.find("step"); !of_run && step != data.end() && step->is_string())
        entry.step = step->get<std::string>();
    if (const auto task = data.find("task_index"); task != data.end() && task->is_number_integer())
        entry.task_index = task->get<int>();
    if (const auto attempt = data.find("attempt");
        !of_run && attempt != data.end() && attempt->is_number_integer())
        entry.attempt = attempt->get<int>();
    return entry;
}

}  // namespace pawl::model
