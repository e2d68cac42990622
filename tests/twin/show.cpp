#include "twin/show.h"

#include <nlohmann/json.hpp>

#include "support/times.h"

namespace pawl::test::twin {

std::string Show::operator()(Timestamp time) const {
    return text_of(time);
}

// clang-format off
std::string Show::operator()(const QueueInfo& queue) const {
    return fields("queue", queue.name, "id", queue.id, "kind", queue.kind, "paused", queue.paused,
        "keep_archive", queue.keep_archive, "lease", queue.lease, "max_strikes", queue.max_strikes,
        "max_attempts", queue.max_attempts, "dead_letter_queue", queue.dead_letter_queue,
        "created_at", queue.created_at);
}

std::string Show::operator()(const QueueStats& stats) const {
    return fields("stats", stats.queue, "paused", stats.paused, "ready", stats.ready,
        "waiting", stats.waiting, "leased", stats.leased, "archived", stats.archived,
        "dead", stats.dead, "oldest_ready_age", stats.oldest_ready_age, "workers", stats.workers);
}

std::string Show::operator()(const StoreStats& stats) const {
    return fields("queues", stats.queues, "ready", stats.ready, "waiting", stats.waiting,
        "leased", stats.leased, "archived", stats.archived, "dead", stats.dead,
        "workers_live", stats.workers_live, "workers_lost", stats.workers_lost,
        "workers_stopped", stats.workers_stopped, "schema_version", stats.schema_version);
}

std::string Show::operator()(const Message& message) const {
    return fields("message", message.id, "queue", message.queue, "delivery", message.delivery,
        "strikes", message.strikes, "attempts", message.attempts, "priority", message.priority,
        "state", message.state, "enqueued_at", message.enqueued_at,
        "visible_at", message.visible_at, "worker", message.worker,
        "last_error", message.last_error, "payload", message.payload);
}

std::string Show::operator()(const ArchivedMessage& message) const {
    return fields("archived", message.id, "queue", message.queue, "delivery", message.delivery,
        "strikes", message.strikes, "attempts", message.attempts, "priority", message.priority,
        "dead", message.dead, "reason", message.reason, "enqueued_at", message.enqueued_at,
        "archived_at", message.archived_at, "worker", message.worker,
        "payload", message.payload);
}

std::string Show::operator()(const WorkflowInfo& workflow) const {
    return fields("workflow", workflow.name, "queue", workflow.queue, "paused", workflow.paused,
        "max_attempts", workflow.max_attempts, "backoff_base", workflow.backoff_base,
        "backoff_cap", workflow.backoff_cap, "lease", workflow.lease,
        "run_timeout", workflow.run_timeout, "max_strikes", workflow.max_strikes,
        "dead_letter_workflow", workflow.dead_letter_workflow, "audit", workflow.audit,
        "publish", workflow.publish, "is_flow", workflow.is_flow,
        "task_timeout", workflow.task_timeout, "created_at", workflow.created_at);
}

std::string Show::operator()(const WorkflowMetrics& metrics) const {
    return fields("metrics", metrics.workflow, "window", metrics.window,
        "succeeded", metrics.succeeded, "failed", metrics.failed, "cancelled", metrics.cancelled,
        "success_rate", metrics.success_rate, "failure_rate", metrics.failure_rate,
        "runs_per_second", metrics.runs_per_second, "average", metrics.average_duration,
        "p50", metrics.p50_duration, "p95", metrics.p95_duration, "p99", metrics.p99_duration,
        "queue_depth", metrics.queue_depth, "in_flight", metrics.in_flight,
        "waiting", metrics.waiting, "oldest_waiting", metrics.oldest_waiting);
}

std::string Show::operator()(const RunInfo& run) const {
    // The worker of a flow's run: SQLite keeps the last one, PostgreSQL the first one.
    const WorkerId worker = run.remaining_steps ? WorkerId() : run.worker;
    // So SQLite updates the run when another worker claims one of its tasks.
    std::optional<Timestamp> updated_at = run.updated_at;
    if (run.remaining_steps && !run.completed_at) updated_at.reset();
    return fields("run", run.id, "workflow", run.workflow, "status", run.status,
        "priority", run.priority, "max_attempts", run.max_attempts, "delivery", run.delivery,
        "strikes", run.strikes, "attempts", run.attempts, "worker", worker,
        "parent", run.parent, "origin", run.origin, "forked_at", run.forked_at,
        "key", run.idempotency_key, "tags", run.tags, "input", run.input, "output", run.output,
        "error", run.error, "last_error", run.last_error, "remaining_steps", run.remaining_steps,
        "visible_at", run.visible_at, "created_at", run.created_at, "updated_at", updated_at,
        "started_at", run.started_at, "paused_at", run.paused_at,
        "completed_at", run.completed_at, "deleted_at", run.deleted_at,
        "deleted_reason", run.deleted_reason);
}

std::string Show::operator()(const RunCounts& counts) const {
    return fields("queued", counts.queued, "running", counts.running, "paused", counts.paused,
        "success", counts.success, "error", counts.error, "cancelled", counts.cancelled);
}

std::string Show::operator()(const StepInfo& step) const {
    return fields("step", step.id, "position", step.position, "status", step.status,
        "attempt", step.attempt, "delivery", step.delivery, "worker", step.worker,
        "input", step.input, "output", step.output, "error", step.error,
        "pause_message", step.pause_message, "pause_condition", step.pause_condition,
        "wake_at", step.wake_at, "started_at", step.started_at,
        "completed_at", step.completed_at, "remaining_deps", step.remaining_deps,
        "initial_tasks", step.initial_tasks, "remaining_tasks", step.remaining_tasks,
        "skip_reason", step.skip_reason);
}

std::string Show::operator()(const RunEvent& event) const {
    return fields("event", event.kind, "run", event.run, "data", event.data,
        "worker", event.worker, "delivery", event.delivery, "at", event.at);
}

std::string Show::operator()(const HistoryEntry& entry) const {
    // "forked by pawl at step": the role is PostgreSQL's, like the member "by" in ids.h.
    std::string text = entry.text;
    const auto data = nlohmann::json::parse(entry.data.text);
    const std::string by = data.is_object() ? data.value("by", "") : "";
    if (const auto place = text.find(" by " + by); !by.empty() && place != std::string::npos)
        text.erase(place, by.size() + 4);
    return fields("entry", entry.kind, "at", entry.at, "step", entry.step,
        "task_index", entry.task_index, "attempt", entry.attempt, "delivery", entry.delivery,
        "worker", entry.worker, "text", text, "data", entry.data);
}

std::string Show::operator()(const TaskRef& task) const {
    return (*this)(task.run) + "/" + task.step + "." + std::to_string(task.task_index);
}

std::string Show::operator()(const TaskInfo& task) const {
    return fields("task", task.task, "status", task.status, "message", task.message,
        "attempts", task.attempts, "delivery", task.delivery, "worker", task.worker,
        "input", task.input, "output", task.output, "error", task.error,
        "queued_at", task.queued_at, "started_at", task.started_at,
        "completed_at", task.completed_at);
}

std::string Show::operator()(const Task& task) const {
    return fields("task", task.task, "flow", task.flow, "input", task.input,
        "message", task.message, "attempts", task.attempts, "delivery", task.delivery,
        "lease_ends_at", task.lease_ends_at);
}

std::string Show::operator()(const ScheduleInfo& schedule) const {
    return fields("schedule", schedule.name, "workflow", schedule.workflow, "cron", schedule.cron,
        "time_zone", schedule.time_zone, "params", schedule.params, "start", schedule.start,
        "end", schedule.end, "jitter", schedule.jitter, "priority", schedule.priority,
        "overlap", schedule.overlap, "catch_up", schedule.catch_up,
        "catch_up_limit", schedule.catch_up_limit, "paused", schedule.paused,
        "next_fire_at", schedule.next_fire_at, "last_fire_at", schedule.last_fire_at,
        "last_run", schedule.last_run, "waiting_fire_at", schedule.waiting_fire_at,
        "created_at", schedule.created_at);
}

std::string Show::operator()(const OutboxEvent& event) const {
    return fields("event", ids_.of(IdKind::outbox, event.id), "uuid", ids_.uuid(event.event_id),
        "type", event.type, "payload", event.payload, "aggregate", event.aggregate,
        "subject", event.subject, "traceparent", event.traceparent, "run", event.run,
        "status", event.status, "attempts", event.attempts, "last_error", event.last_error,
        "created_at", event.created_at, "visible_at", event.visible_at,
        "published_at", event.published_at);
}

std::string Show::operator()(const RetentionPolicy& policy) const {
    return fields("retention", policy.kind, "name", policy.name, "age", policy.keep.age,
        "count", policy.keep.count);
}

std::string Show::operator()(const PruneReport::Part& part) const {
    return fields("part", part.kind, "name", part.name, "pruned", part.pruned);
}

std::string Show::operator()(const WorkerInfo& worker) const {
    return fields("worker", worker.id, "name", worker.name, "host", worker.host,
        "port", worker.port, "pid", worker.pid, "status", worker.status, "lost", worker.lost,
        "lease", worker.lease, "subscriptions", worker.subscriptions,
        "handlers", worker.handlers, "started_at", worker.started_at,
        "heartbeat_at", worker.heartbeat_at);
}
// clang-format on

std::string Show::operator()(const LostWork& lost) const {
    return ids_.text(to_string(lost));
}

std::string Show::operator()(const Run& run) const {
    return fields("run", run.id(), "created", run.created());
}

}  // namespace pawl::test::twin
