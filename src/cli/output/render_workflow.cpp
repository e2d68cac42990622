// The JSON of workflows, runs, steps, tasks, events and schedules.
#include "cli/output/render.h"
#include "cli/output/render_object.h"

namespace pawl::cli {

namespace {

// Embedded byte for byte, as payloads are.
std::string with_json(std::string object, const char* key, const std::optional<Json>& value) {
    return with_field(std::move(object), key, value ? value->text : "null");
}

Object to_object(const Wait& wait) {
    Object object{{"kind", to_string(wait.kind)}};
    if (wait.until) object["until"] = rfc3339(*wait.until);
    if (wait.run) object["run_id"] = wait.run.value();
    return object;
}

}  // namespace

std::string to_json(const WorkflowInfo& workflow) {
    return dump(Object{
        {"queue_id", workflow.queue.value()},
        {"name", workflow.name},
        {"paused", workflow.paused},
        {"max_attempts", workflow.max_attempts},
        {"backoff_base_ms", workflow.backoff_base.count()},
        {"backoff_cap_ms", workflow.backoff_cap.count()},
        {"lease_ms", or_null(workflow.lease)},
        {"run_timeout_ms", or_null(workflow.run_timeout)},
        {"max_strikes", workflow.max_strikes},
        {"dead_letter_workflow", or_null(workflow.dead_letter_workflow)},
        {"audit", to_string(workflow.audit)},
        {"is_flow", workflow.is_flow},
        {"task_timeout_ms", or_null(workflow.task_timeout)},
        {"publish", to_string(workflow.publish)},
        {"created_at", rfc3339(workflow.created_at)},
    });
}

std::string to_json(const WorkflowMetrics& metrics) {
    const Object object{
        {"workflow", metrics.workflow},
        {"window_ms", metrics.window.count()},
        {"succeeded", metrics.succeeded.value},
        {"failed", metrics.failed.value},
        {"cancelled", metrics.cancelled.value},
        {"success_rate", metrics.success_rate},
        {"failure_rate", metrics.failure_rate},
        {"runs_per_second", metrics.runs_per_second},
        {"average_duration_ms", or_null(metrics.average_duration)},
        {"p50_duration_ms", or_null(metrics.p50_duration)},
        {"p95_duration_ms", or_null(metrics.p95_duration)},
        {"p99_duration_ms", or_null(metrics.p99_duration)},
        {"queue_depth", metrics.queue_depth.value},
        {"in_flight", metrics.in_flight.value},
        {"waiting", metrics.waiting.value},
        {"oldest_waiting_ms", or_null(metrics.oldest_waiting)},
    };
    return dump_with_counts(
        object,
        {{"succeeded", metrics.succeeded},
         {"failed", metrics.failed},
         {"cancelled", metrics.cancelled},
         {"queue_depth", metrics.queue_depth},
         {"in_flight", metrics.in_flight},
         {"waiting", metrics.waiting}}
    );
}

std::string to_json(const RunInfo& run) {
    const Object object{
        {"id", run.id.value()},
        {"workflow", run.workflow},
        {"status", to_string(run.status)},
        {"priority", run.priority},
        {"max_attempts", or_null(run.max_attempts)},
        {"delivery", run.delivery},
        {"strikes", run.strikes},
        {"attempts", run.attempts},
        {"worker_id", or_null(run.worker)},
        {"parent_run_id", or_null(run.parent)},
        {"origin_run_id", or_null(run.origin)},
        {"forked_at", or_null(run.forked_at)},
        {"idempotency_key", or_null(run.idempotency_key)},
        {"tags", run.tags},
        {"last_error", or_null(run.last_error)},
        {"remaining_steps", or_null(run.remaining_steps)},
        {"visible_at", or_null(run.visible_at)},
        {"created_at", rfc3339(run.created_at)},
        {"updated_at", rfc3339(run.updated_at)},
        {"started_at", or_null(run.started_at)},
        {"paused_at", or_null(run.paused_at)},
        {"completed_at", or_null(run.completed_at)},
        {"deleted_at", or_null(run.deleted_at)},
        {"deleted_reason", or_null(run.deleted_reason)},
    };
    auto text = with_json(dump(object), "input", run.input);
    text = with_json(std::move(text), "output", run.output);
    return with_json(std::move(text), "error", run.error);
}

std::string relative_json(const RunInfo& run) {
    return dump(Object{
        {"id", run.id.value()},
        {"status", to_string(run.status)},
        {"origin_run_id", or_null(run.origin)},
        {"forked_at", or_null(run.forked_at)},
    });
}

std::string to_json(const RunCounts& counts) {
    const Object object{
        {"queued", counts.queued.value},
        {"running", counts.running.value},
        {"paused", counts.paused.value},
        {"success", counts.success.value},
        {"error", counts.error.value},
        {"cancelled", counts.cancelled.value},
    };
    return dump_with_counts(
        object,
        {{"queued", counts.queued},
         {"running", counts.running},
         {"paused", counts.paused},
         {"success", counts.success},
         {"error", counts.error},
         {"cancelled", counts.cancelled}}
    );
}

std::string to_json(const StepInfo& step) {
    const Object object{
        {"id", step.id},
        {"position", step.position},
        {"status", to_string(step.status)},
        {"attempt", step.attempt},
        {"delivery", step.delivery},
        {"worker_id", or_null(step.worker)},
        {"pause_message", or_null(step.pause_message)},
        {"pause_condition", or_null(step.pause_condition)},
        {"wake_at", or_null(step.wake_at)},
        {"waits_for", step.waits_for ? to_object(*step.waits_for) : Object()},
        {"started_at", or_null(step.started_at)},
        {"completed_at", or_null(step.completed_at)},
        {"remaining_deps", or_null(step.remaining_deps)},
        {"initial_tasks", or_null(step.initial_tasks)},
        {"remaining_tasks", or_null(step.remaining_tasks)},
        {"skip_reason", or_null(step.skip_reason)},
    };
    auto text = with_json(dump(object), "input", step.input);
    text = with_json(std::move(text), "output", step.output);
    return with_json(std::move(text), "error", step.error);
}

std::string to_json(const TaskInfo& task) {
    const Object object{
        {"step", task.task.step},
        {"task_index", task.task.task_index},
        {"status", to_string(task.status)},
        {"message_id", task.message.value()},
        {"attempts", task.attempts},
        {"delivery", task.delivery},
        {"worker_id", or_null(task.worker)},
        {"queued_at", rfc3339(task.queued_at)},
        {"started_at", or_null(task.started_at)},
        {"completed_at", or_null(task.completed_at)},
        {"error", or_null(task.error)},
    };
    auto text = with_json(dump(object), "input", task.input);
    return with_json(std::move(text), "output", task.output);
}

std::string to_json(const Task& task) {
    const Object object{
        {"flow", task.flow},
        {"run_id", task.task.run.value()},
        {"step", task.task.step},
        {"task_index", task.task.task_index},
        {"message_id", task.message.value()},
        {"attempts", task.attempts},
        {"delivery", task.delivery},
        {"lease_ends_at", rfc3339(task.lease_ends_at)},
    };
    return with_json(dump(object), "input", task.input);
}

std::string to_json(const ScheduleInfo& schedule) {
    const Object object{
        {"name", schedule.name},
        {"workflow", schedule.workflow},
        {"cron", schedule.cron},
        {"time_zone", schedule.time_zone},
        {"start", or_null(schedule.start)},
        {"end", or_null(schedule.end)},
        {"jitter_ms", schedule.jitter.count()},
        {"priority", schedule.priority},
        {"overlap", to_string(schedule.overlap)},
        {"catch_up", to_string(schedule.catch_up)},
        {"catch_up_limit", schedule.catch_up_limit},
        {"paused", schedule.paused},
        {"next_fire_at", or_null(schedule.next_fire_at)},
        {"last_fire_at", or_null(schedule.last_fire_at)},
        {"last_run_id", or_null(schedule.last_run)},
        {"waiting_fire_at", or_null(schedule.waiting_fire_at)},
        {"created_at", rfc3339(schedule.created_at)},
    };
    return with_json(dump(object), "params", schedule.params);
}

std::string to_json(const HistoryEntry& entry) {
    const Object object{
        {"at", rfc3339(entry.at)},
        {"kind", entry.kind},
        {"step", or_null(entry.step)},
        {"task_index", or_null(entry.task_index)},
        {"attempt", entry.attempt},
        {"delivery", entry.delivery},
        {"worker_id", or_null(entry.worker)},
        {"text", entry.text},
    };
    return with_json(dump(object), "data", entry.data);
}

std::string to_json(const RunEvent& event) {
    const Object object{
        {"id", event.id},
        {"run_id", event.run.value()},
        {"kind", event.kind},
        {"worker_id", or_null(event.worker)},
        {"delivery", event.delivery},
        {"at", rfc3339(event.at)},
    };
    return with_json(dump(object), "data", event.data);
}

}  // namespace pawl::cli
