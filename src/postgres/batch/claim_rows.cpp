#include "postgres/batch/claim_rows.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "generated/postgres_sql.h"
#include "model/enum_names.h"

namespace pawl::postgres {

namespace {

using ClaimRow = sql::row::Claim;
using ClaimedRunRow = sql::row::ClaimRuns;
using ClaimedTaskRow = sql::row::ClaimTasks;

// The results of all claims begin with the columns of claim().
template <std::size_t n>
constexpr bool begins_like_claim(const std::array<std::string_view, n>& names) {
    return std::equal(ClaimRow::names.begin(), ClaimRow::names.end(), names.begin());
}
static_assert(ClaimRow::names == sql::row::ClaimQueue::names);
static_assert(begins_like_claim(ClaimedRunRow::names) && begins_like_claim(ClaimedTaskRow::names));

Message read_message(const Rows& rows, int row, WorkerId worker) {
    Message message;
    message.id = MessageId(rows.int8(row, ClaimRow::message_id));
    message.priority = rows.int4(row, ClaimRow::priority);
    message.delivery = rows.int4(row, ClaimRow::delivery);
    message.strikes = rows.int4(row, ClaimRow::strikes);
    message.attempts = rows.int4(row, ClaimRow::attempts);
    message.state = MessageState::leased;
    message.enqueued_at = rows.time(row, ClaimRow::enqueued_at);
    message.visible_at = rows.time(row, ClaimRow::visible_at);
    message.worker = worker;
    message.last_error = rows.string(row, ClaimRow::last_error);
    message.payload.text = rows.text(row, ClaimRow::payload);
    return message;
}

std::vector<seam::ReplayStep> read_steps(const Rows& rows, int row) {
    const auto ids = rows.text_array(row, ClaimedRunRow::step_ids);
    if (ids.empty()) return {};
    const auto positions = rows.int4_array(row, ClaimedRunRow::step_positions);
    const auto statuses = rows.text_array(row, ClaimedRunRow::step_statuses);
    const auto attempts = rows.int4_array(row, ClaimedRunRow::step_attempts);
    const auto outputs = rows.text_array(row, ClaimedRunRow::step_outputs);
    const auto errors = rows.text_array(row, ClaimedRunRow::step_errors);
    const auto wake_ats = rows.time_array(row, ClaimedRunRow::step_wake_ats);
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
    if (!rows.boolean(row, ClaimedRunRow::is_run)) return std::nullopt;
    seam::ClaimedRun run;
    if (!rows.is_null(row, ClaimedRunRow::max_attempts))
        run.max_attempts = rows.int4(row, ClaimedRunRow::max_attempts);
    run.started_at = rows.time(row, ClaimedRunRow::started_at);
    run.steps_loaded = rows.boolean(row, ClaimedRunRow::steps_loaded);
    try {
        run.steps = read_steps(rows, row);
    } catch (const model::UnknownWord&) {
        // An unknown status: recorded_steps() throws for this run alone, and the other runs of the
        // claim are executed.
        run.steps_loaded = false;
    }
    return run;
}

seam::ClaimedTask read_task(const Rows& rows, int row) {
    seam::ClaimedTask task;
    task.task.run = RunId(rows.int8(row, ClaimedTaskRow::run_id));
    task.task.step = rows.text(row, ClaimedTaskRow::step_slug);
    task.task.task_index = rows.int4(row, ClaimedTaskRow::task_index);
    task.attempts = rows.int4(row, ClaimedTaskRow::task_attempts);
    task.max_attempts = rows.int4(row, ClaimedTaskRow::max_attempts);
    if (!rows.is_null(row, ClaimedTaskRow::timeout_ms))
        task.timeout = Duration(rows.int8(row, ClaimedTaskRow::timeout_ms));
    return task;
}

// The payload of the last row: see queue/claim.sql. Lost leases may belong to messages that this
// claim did not take.
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

// By priority, then arrival. Usually the rows are already in this order.
std::vector<Place> order_of(const Rows& rows, int count) {
    std::vector<Place> order;
    order.reserve(static_cast<std::size_t>(count));
    for (int row = 0; row < count; ++row)
        order.push_back(
            {rows.int4(row, ClaimRow::priority), rows.int8(row, ClaimRow::message_id), row}
        );
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
        claim.queues.emplace_back(rows.int8(row, ClaimRow::queue_id));
        if (request.work == seam::Work::runs) claim.runs.push_back(read_run(rows, row));
        if (request.work == seam::Work::tasks) claim.tasks.push_back(read_task(rows, row));
    }
    claim.now = rows.time(tail, ClaimRow::now_at);
    claim.next_due = rows.optional_time(tail, ClaimRow::next_due);
    claim.after = QueueId(rows.id(tail, ClaimRow::last_queue));
    claim.more = rows.boolean(tail, ClaimRow::more);
    read.looked = rows.boolean(tail, ClaimRow::looked);
    read.queue = QueueId(rows.id(tail, ClaimRow::queue_id));
    if (!rows.is_null(tail, ClaimRow::payload))
        read_notes(rows.text(tail, ClaimRow::payload), claim);
    return read;
}

StepStatus to_step_status(std::string_view name) {
    return model::stored_value(model::step_statuses, name, "step status");
}

}  // namespace pawl::postgres
