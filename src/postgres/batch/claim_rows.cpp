#include "postgres/batch/claim_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/enum_names.h"

namespace pawl::postgres {

namespace {

enum ClaimColumn {
    col_message,
    col_queue,
    col_priority,
    col_delivery,
    col_strikes,
    col_attempts,
    col_enqueued_at,
    col_visible_at,
    col_last_error,
    col_payload,
    col_now,
    col_next_due,
    col_looked,
    col_last_queue,
    col_more,
    // Of claim_runs() only.
    col_is_run,
    col_max_attempts,
    col_started_at,
    col_steps_loaded,
    col_step_ids,
    col_step_positions,
    col_step_statuses,
    col_step_attempts,
    col_step_outputs,
    col_step_errors,
    col_step_wake_ats
};

// Of claim_tasks() only.
enum TaskColumn {
    col_task_run = col_more + 1,
    col_task_step,
    col_task_index,
    col_task_attempts,
    col_task_max_attempts,
    col_task_timeout_ms
};

Message read_message(const Rows& rows, int row, WorkerId worker) {
    Message message;
    message.id = MessageId(rows.int8(row, col_message));
    message.priority = rows.int4(row, col_priority);
    message.delivery = rows.int4(row, col_delivery);
    message.strikes = rows.int4(row, col_strikes);
    message.attempts = rows.int4(row, col_attempts);
    message.state = MessageState::leased;
    message.enqueued_at = rows.time(row, col_enqueued_at);
    message.visible_at = rows.time(row, col_visible_at);
    message.worker = worker;
    message.last_error = rows.string(row, col_last_error);
    message.payload.text = rows.text(row, col_payload);
    return message;
}

std::vector<seam::ReplayStep> read_steps(const Rows& rows, int row) {
    const auto ids = rows.text_array(row, col_step_ids);
    if (ids.empty()) return {};
    const auto positions = rows.int4_array(row, col_step_positions);
    const auto statuses = rows.text_array(row, col_step_statuses);
    const auto attempts = rows.int4_array(row, col_step_attempts);
    const auto outputs = rows.text_array(row, col_step_outputs);
    const auto errors = rows.text_array(row, col_step_errors);
    const auto wake_ats = rows.time_array(row, col_step_wake_ats);
    std::vector<seam::ReplayStep> steps(ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i) {
        seam::ReplayStep& step = steps[i];
        step.id = ids[i];
        step.position = positions[i];
        step.status = to_step_status(statuses[i]);
        step.attempt = attempts[i];
        if (step.status == StepStatus::success) step.output = outputs[i];
        if (step.status == StepStatus::error) step.error = errors[i];
        step.wake_at = wake_ats[i];
    }
    return steps;
}

std::optional<seam::ClaimedRun> read_run(const Rows& rows, int row) {
    if (!rows.boolean(row, col_is_run)) return std::nullopt;
    seam::ClaimedRun run;
    if (!rows.is_null(row, col_max_attempts)) run.max_attempts = rows.int4(row, col_max_attempts);
    run.started_at = rows.time(row, col_started_at);
    run.steps_loaded = rows.boolean(row, col_steps_loaded);
    try {
        run.steps = read_steps(rows, row);
    } catch (const model::UnknownWord&) {
        // An unknown status: recorded_steps() throws it again for this run alone, and the other
        // runs of the claim are executed.
        run.steps_loaded = false;
    }
    return run;
}

seam::ClaimedTask read_task(const Rows& rows, int row) {
    seam::ClaimedTask task;
    task.task.run = RunId(rows.int8(row, col_task_run));
    task.task.step = rows.text(row, col_task_step);
    task.task.task_index = rows.int4(row, col_task_index);
    task.attempts = rows.int4(row, col_task_attempts);
    task.max_attempts = rows.int4(row, col_task_max_attempts);
    if (!rows.is_null(row, col_task_timeout_ms))
        task.timeout = Duration(rows.int8(row, col_task_timeout_ms));
    return task;
}

// See the head of queue/claim.sql. Leases may have ended that this claim has not taken.
void read_notes(std::string_view text, seam::Claim& claim) {
    const auto notes = nlohmann::json::parse(text);
    const auto& lost = notes.at("lost");
    for (std::size_t i = 0; i < lost.size(); ++i) {
        const MessageId message(lost[i].get<std::int64_t>());
        if (std::ranges::find(claim.messages, message, &Message::id) == claim.messages.end())
            continue;
        const auto& worker = notes.at("workers").at(i);
        claim.taken_over.push_back(
            {message, WorkerId(worker.is_null() ? 0 : worker.get<std::int64_t>())}
        );
    }
    const auto& poison = notes.at("poison");
    for (std::size_t i = 0; i < poison.size(); ++i)
        claim.poisoned.push_back(
            {MessageId(poison[i].get<std::int64_t>()),
             QueueId(notes.at("queues").at(i).get<std::int64_t>()),
             notes.at("reasons").at(i).get<std::string>()}
        );
}

struct Place {
    int priority;
    std::int64_t message;
    int row;
};

// By priority, then arrival. Mostly they come so.
std::vector<Place> order_of(const Rows& rows, int count) {
    std::vector<Place> order;
    order.reserve(static_cast<std::size_t>(count));
    for (int row = 0; row < count; ++row)
        order.push_back({rows.int4(row, col_priority), rows.int8(row, col_message), row});
    const auto before = [](const Place& a, const Place& b) {
        return a.priority != b.priority ? a.priority > b.priority : a.message < b.message;
    };
    if (!std::ranges::is_sorted(order, before)) std::ranges::sort(order, before);
    return order;
}

}  // namespace

ReadClaim read_claim(const Rows& rows, const seam::ClaimRequest& request) {
    ReadClaim read;
    seam::Claim& claim = read.claim;
    const int tail = rows.size() - 1;
    const auto order = order_of(rows, tail);
    claim.messages.reserve(order.size());
    claim.queues.reserve(order.size());
    for (const auto& [priority, id, row] : order) {
        claim.messages.push_back(read_message(rows, row, request.worker));
        claim.queues.emplace_back(rows.int8(row, col_queue));
        if (request.work == seam::Work::runs) claim.runs.push_back(read_run(rows, row));
        if (request.work == seam::Work::tasks) claim.tasks.push_back(read_task(rows, row));
    }
    claim.now = rows.time(tail, col_now);
    claim.next_due = rows.optional_time(tail, col_next_due);
    claim.after = QueueId(rows.id(tail, col_last_queue));
    claim.more = rows.boolean(tail, col_more);
    read.looked = rows.boolean(tail, col_looked);
    if (!rows.is_null(tail, col_payload)) read_notes(rows.text(tail, col_payload), claim);
    return read;
}

StepStatus to_step_status(std::string_view name) {
    return model::stored_value(model::step_statuses, name, "step status");
}

}  // namespace pawl::postgres
