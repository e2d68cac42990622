#include "rowstore/commit/fences.h"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "rowstore/commit/run_publisher.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Write;

namespace {

std::string lease_list(seam::Writes writes) {
    std::string list = "[";
    for (const Write* write : writes) {
        if (list.size() > 1) list += ',';
        fmt::format_to(
            std::back_inserter(list), "[{},{}]", write->lease.message.value(), write->lease.delivery
        );
    }
    list += ']';
    return list;
}

std::string step_list(seam::Writes writes) {
    std::string list = "[";
    for (const Write* write : writes) {
        const seam::StepWrite* const step = seam::step_of(*write);
        if (step == nullptr) continue;
        if (list.size() > 1) list += ',';
        const auto id =
            nlohmann::json(step->id).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        fmt::format_to(std::back_inserter(list), "[{},{}]", write->lease.message.value(), id);
    }
    list += ']';
    return list;
}

// Queries needed by ends of runs.
void prefetch_ends(Session& session, seam::Writes writes) {
    const auto ends = [](const Write* write) { return write->is<seam::Finish>(); };
    if (std::ranges::any_of(writes, ends)) session.prefetch(sql::has_calls);
    for (const Write* write : writes) {
        if (ends(write) && write->as<seam::Finish>().status != RunStatus::success)
            session.prefetch(sql::dead_letter, run_of(write->lease));
    }
}

// Queries needed by suspensions.
void prefetch_waits(Session& session, seam::Writes writes) {
    for (const Write* write : writes) {
        if (!write->is<seam::Suspend>()) continue;
        const auto& suspend = write->as<seam::Suspend>();
        const RunId run = run_of(write->lease);
        if (suspend.status != RunStatus::paused && !suspend.call) continue;
        session.prefetch(sql::run_deadline, run);
        if (suspend.step && !suspend.call)
            session.prefetch(sql::find_signal, run, std::string_view(suspend.step->id));
    }
}

}  // namespace

Fences prefetch_fences(Session& session, seam::Writes writes) {
    if (session.round_trips() == RoundTrips::free) return {};
    std::string leases = lease_list(writes);
    std::string steps = step_list(writes);
    session.prefetch(sql::fences, std::string_view(leases));
    if (steps != "[]") session.prefetch(sql::step_states, std::string_view(steps));
    if (std::ranges::any_of(writes, [](const Write* write) {
            return write->is<seam::Finish, seam::Suspend>();
        }))
        session.prefetch(sql::some_workflow_publishes);
    prefetch_ends(session, writes);
    prefetch_waits(session, writes);
    const auto& queue = writes.front()->queue;
    if (queue) session.prefetch(sql::queue_id, std::string_view(*queue));
    return {std::move(leases), std::move(steps)};
}

const LeasedRow* Fences::find(Session& session, const Lease& lease) {
    if (!read_) read(session);
    const auto found = held_.find(key_of(lease));
    return found == held_.end() ? nullptr : &found->second;
}

void Fences::read(Session& session) {
    held_.clear();
    using Row = sql::row::Fences;
    Rows rows = session.query(sql::fences, std::string_view(leases_));
    while (rows.next()) {
        LeasedRow& row = held_[{rows.integer(Row::message_id), rows.number(Row::delivery)}];
        row.worker = rows.id<WorkerId>(Row::worker_id);
        row.queue = rows.id<QueueId>(Row::queue_id);
        row.of_workflow = rows.flag(Row::is_workflow);
        row.run = rows.id<RunId>(Row::run_id);
        row.step = rows.number(Row::step_index);
        row.task = rows.number(Row::task_index);
        row.attempts = rows.number(Row::attempts);
        row.max_attempts = rows.number(Row::max_attempts);
    }
    read_ = true;
}

void Fences::read_steps(Session& session) {
    using Row = sql::row::StepStates;
    Rows rows = session.query(sql::step_states, std::string_view(steps_));
    while (rows.next())
        statuses_[{rows.id<RunId>(Row::run_id), std::string(rows.text(Row::step_id))}] =
            rows.text(Row::status);
    steps_read_ = true;
}

// The same condition as in the statement. Only writes of this batch change steps of the runs whose
// leases it holds.
bool Fences::record(Session& session, RunId run, const seam::StepWrite& step) {
    if (!steps_read_) read_steps(session);
    const auto [found, is_new] = statuses_.try_emplace({run, step.id}, to_string(step.status));
    if (is_new) return true;
    std::string& status = found->second;
    const bool changes =
        status == to_string(StepStatus::pending) || status == to_string(StepStatus::paused) ||
        (status == to_string(StepStatus::running) && step.status != StepStatus::running);
    if (changes) status = to_string(step.status);
    return changes;
}

}  // namespace pawl::rowstore
