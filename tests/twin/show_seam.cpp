#include <algorithm>

#include "support/workflow_test.h"
#include "twin/show.h"

namespace pawl::test::twin {

std::string Show::operator()(seam::WriteStatus status) const {
    std::ostringstream text;
    PrintTo(status, &text);
    return text.str();
}

std::string Show::operator()(const seam::WriteOutcome& outcome) const {
    if (outcome.status != seam::WriteStatus::rejected) return (*this)(outcome.status);
    return fmt::format("rejected, {}: {}", to_string(outcome.code), ids_.text(outcome.error));
}

std::string Show::operator()(const seam::ReplayStep& step) const {
    // A claim returns JSON text as the store has it, or none.
    const auto json = [&](const std::string& text) {
        return text.empty() ? text : ids_.json(text);
    };
    return fields(
        "recorded",
        step.id,
        "position",
        step.position,
        "status",
        step.status,
        "attempt",
        step.attempt,
        "output",
        json(step.output),
        "error",
        json(step.error),
        "wake_at",
        step.wake_at
    );
}

std::string Show::operator()(const seam::ClaimedRun& run) const {
    return fields(
        "max_attempts",
        run.max_attempts,
        "started_at",
        run.started_at,
        "steps_loaded",
        run.steps_loaded,
        "steps",
        run.steps
    );
}

std::string Show::operator()(const seam::ClaimedTask& task) const {
    return fields(
        "task",
        task.task,
        "attempts",
        task.attempts,
        "max_attempts",
        task.max_attempts,
        "timeout",
        task.timeout
    );
}

// Not compared, because stores may answer differently:
// - The two lists for the log have no order.
// - `after` is only a hint for the next claim: it is meaningless if nothing was claimed.
// - `next_due` of a claim that found as much as requested, or dead letters, or that left something
//   (`more`), or a time in the past: each of them only means that the caller claims again.
std::string Show::claim(seam::Claim claim, int asked) const {
    if (claim.messages.empty()) claim.after = {};
    const bool full = claim.messages.size() == static_cast<std::size_t>(asked);
    if (full || claim.more || !claim.poisoned.empty() || claim.next_due <= claim.now)
        claim.next_due.reset();
    std::vector<std::string> logged;
    for (const seam::TakenOver& one : claim.taken_over)
        logged.push_back(fields("taken_over", one.message, "from", one.from));
    for (const seam::Poisoned& one : claim.poisoned)
        logged.push_back(fields("poisoned", one.message, "queue", one.queue, "reason", one.reason));
    std::ranges::sort(logged);
    return fields(
        "messages",
        claim.messages,
        "queues",
        claim.queues,
        "runs",
        claim.runs,
        "tasks",
        claim.tasks,
        "log",
        logged,
        "now",
        claim.now,
        "next_due",
        claim.next_due,
        "after",
        claim.after,
        "more",
        claim.more
    );
}

std::string Show::operator()(const seam::HeartbeatResult& result) const {
    return fields(
        "status",
        result.status,
        "known",
        result.known,
        "beats",
        result.beats,
        "outcomes",
        result.outcomes
    );
}

std::string Show::operator()(const seam::RunEnd& end) const {
    return fields("status", end.status, "deleted", end.deleted, "output", end.output);
}

std::string Show::operator()(const seam::OutboxDelivery& delivery) const {
    return fields("delivery", delivery.delivery, "of", delivery.event);
}

std::string Show::operator()(const seam::OutboxClaim& claim) const {
    return fields("events", claim.events, "now", claim.now, "next_due", claim.next_due);
}

std::string Show::operator()(const seam::StoredSchedule& schedule) const {
    return fields("version", schedule.version, "of", schedule.info);
}

std::string Show::operator()(const seam::DueSchedules& due) const {
    return fields("now", due.now, "due", due.due, "next_due", due.next_due, "waiting", due.waiting);
}

std::string Show::operator()(const seam::PrunePart& part) const {
    return fields("kind", part.kind, "queue", part.queue, "name", part.name);
}

std::string Show::operator()(const seam::PrunedBatch& batch) const {
    return fields("looked", batch.looked, "pruned", batch.pruned, "last", batch.last.at);
}

std::string Show::operator()(const seam::Backlog& backlog) const {
    return fields(
        "queues",
        backlog.queues,
        "outbox_lag",
        backlog.outbox_lag,
        "workers_live",
        backlog.workers_live,
        "workers_lost",
        backlog.workers_lost
    );
}

}  // namespace pawl::test::twin
