#include "rowstore/run/run_readers.h"

#include "model/run_error.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

std::optional<int> optional_number(const Rows& rows, int column) {
    if (rows.null(column)) return std::nullopt;
    return rows.number(column);
}

RunInfo read_run_row(const Rows& rows) {
    RunInfo run;
    run.id = rows.id<RunId>(0);
    run.workflow = rows.text(1);
    run.status = to_run_status(rows.text(2));
    run.priority = rows.number(3);
    if (!rows.null(4)) run.max_attempts = rows.number(4);
    run.delivery = rows.number(5);
    run.strikes = rows.number(6);
    run.attempts = rows.number(7);
    run.worker = rows.id<WorkerId>(8);
    run.parent = rows.id<RunId>(9);
    run.origin = rows.id<RunId>(10);
    run.forked_at = rows.text(11);
    if (!rows.null(12)) run.idempotency_key = rows.text(12);
    run.input.text = rows.text(13);
    run.output = rows.optional_json(14);
    run.error = rows.optional_json(15);
    run.last_error =
        run.error ? model::readable(model::to_run_error(*run.error)) : std::string(rows.text(16));
    run.visible_at = rows.optional_time(17);
    run.created_at = rows.time(18);
    run.updated_at = rows.time(19);
    run.started_at = rows.optional_time(20);
    run.paused_at = rows.optional_time(21);
    run.completed_at = rows.optional_time(22);
    run.deleted_at = rows.optional_time(23);
    run.deleted_reason = rows.text(24);
    run.remaining_steps = optional_number(rows, 25);
    return run;
}

StepInfo read_step_row(const Rows& rows) {
    StepInfo step;
    step.id = rows.text(0);
    step.position = rows.number(1);
    step.status = to_step_status(rows.text(2));
    step.attempt = rows.number(3);
    step.delivery = rows.number(4);
    step.worker = rows.id<WorkerId>(5);
    step.input = rows.optional_json(6);
    step.output = rows.optional_json(7);
    step.error = rows.optional_json(8);
    step.pause_message = rows.text(9);
    step.pause_condition = rows.text(10);
    step.wake_at = rows.optional_time(11);
    step.started_at = rows.optional_time(12);
    step.completed_at = rows.optional_time(13);
    step.remaining_deps = optional_number(rows, 14);
    step.initial_tasks = optional_number(rows, 15);
    step.remaining_tasks = optional_number(rows, 16);
    step.skip_reason = rows.text(17);
    return step;
}

}  // namespace

std::optional<RunInfo> read_run(Session& session, RunId run) {
    std::optional<RunInfo> found;
    {
        Rows rows = session.query(sql::find_run, run);
        if (!rows.next()) return std::nullopt;
        found = read_run_row(rows);
    }
    Rows tags = session.query(sql::run_tags, run);
    while (tags.next()) found->tags.emplace_back(tags.text(0));
    return found;
}

std::vector<StepInfo> read_steps(Session& session, RunId run) {
    std::vector<StepInfo> steps;
    Rows rows = session.query(sql::list_steps, run);
    while (rows.next()) steps.push_back(read_step_row(rows));
    return steps;
}

std::vector<RunEvent> read_events(Session& session, RunId run) {
    std::vector<RunEvent> events;
    Rows rows = session.query(sql::list_events, run);
    while (rows.next()) {
        RunEvent& event = events.emplace_back();
        event.id = rows.integer(0);
        event.run = rows.id<RunId>(1);
        event.kind = rows.text(2);
        event.data.text = rows.text(3);
        event.worker = rows.id<WorkerId>(4);
        event.delivery = rows.number(5);
        event.at = rows.time(6);
    }
    return events;
}

}  // namespace pawl::rowstore
