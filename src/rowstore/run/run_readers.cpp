#include "rowstore/run/run_readers.h"

#include <nlohmann/json.hpp>

#include "model/run_error.h"
#include "model/wait.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

std::optional<int> optional_number(const Rows& rows, int column) {
    if (rows.null(column)) return std::nullopt;
    return rows.number(column);
}

RunInfo read_run_row(const Rows& rows) {
    using store::row::Run;
    RunInfo run;
    run.id = rows.id<RunId>(Run::run_id);
    run.workflow = rows.text(Run::workflow);
    run.status = to_run_status(rows.text(Run::status));
    run.priority = rows.number(Run::priority);
    if (!rows.null(Run::max_attempts)) run.max_attempts = rows.number(Run::max_attempts);
    run.delivery = rows.number(Run::delivery);
    run.strikes = rows.number(Run::strikes);
    run.attempts = rows.number(Run::attempts);
    run.worker = rows.id<WorkerId>(Run::worker_id);
    run.parent = rows.id<RunId>(Run::parent_run_id);
    run.origin = rows.id<RunId>(Run::origin_run_id);
    run.forked_at = rows.text(Run::forked_at);
    if (!rows.null(Run::idempotency_key)) run.idempotency_key = rows.text(Run::idempotency_key);
    run.tags = nlohmann::json::parse(rows.text(Run::tags)).get<std::vector<std::string>>();
    run.input.text = rows.text(Run::input);
    run.output = rows.optional_json(Run::output);
    run.error = rows.optional_json(Run::error);
    run.last_error = run.error ? model::readable(model::to_run_error(*run.error))
                               : std::string(rows.text(Run::last_error));
    run.visible_at = rows.optional_time(Run::visible_at);
    run.created_at = rows.time(Run::created_at);
    run.updated_at = rows.time(Run::updated_at);
    run.started_at = rows.optional_time(Run::started_at);
    run.paused_at = rows.optional_time(Run::paused_at);
    run.completed_at = rows.optional_time(Run::completed_at);
    run.deleted_at = rows.optional_time(Run::deleted_at);
    run.deleted_reason = rows.text(Run::deleted_reason);
    run.remaining_steps = optional_number(rows, Run::remaining_steps);
    return run;
}

StepInfo read_step_row(const Rows& rows) {
    using store::row::Step;
    StepInfo step;
    step.id = rows.text(Step::step_id);
    step.position = rows.number(Step::position);
    step.status = to_step_status(rows.text(Step::status));
    step.attempt = rows.number(Step::attempt);
    step.delivery = rows.number(Step::delivery);
    step.worker = rows.id<WorkerId>(Step::worker_id);
    step.input = rows.optional_json(Step::input);
    step.output = rows.optional_json(Step::output);
    step.error = rows.optional_json(Step::error);
    step.pause_message = rows.text(Step::pause_message);
    step.pause_condition = rows.text(Step::pause_condition);
    step.wake_at = rows.optional_time(Step::wake_at);
    step.started_at = rows.optional_time(Step::started_at);
    step.completed_at = rows.optional_time(Step::completed_at);
    step.remaining_deps = optional_number(rows, Step::remaining_deps);
    step.initial_tasks = optional_number(rows, Step::initial_tasks);
    step.remaining_tasks = optional_number(rows, Step::remaining_tasks);
    step.skip_reason = rows.text(Step::skip_reason);
    step.waits_for = model::wait_of(step, rows.id<RunId>(Step::called_run_id));
    return step;
}

}  // namespace

std::optional<RunInfo> read_run(Session& session, RunId run) {
    Rows rows = session.query(sql::find_run, run);
    if (!rows.next()) return std::nullopt;
    return read_run_row(rows);
}

std::vector<RunInfo> read_runs(Session& session, const std::vector<RunId>& ids) {
    std::vector<RunInfo> runs;
    for (const RunId id : ids) session.prefetch(sql::find_run, id);
    for (const RunId id : ids) {
        if (auto run = read_run(session, id)) runs.push_back(std::move(*run));
    }
    return runs;
}

std::vector<StepInfo> read_steps(Session& session, RunId run) {
    std::vector<StepInfo> steps;
    Rows rows = session.query(sql::list_steps, run);
    while (rows.next()) steps.push_back(read_step_row(rows));
    return steps;
}

std::vector<RunEvent> read_events(Session& session, RunId run) {
    using store::row::Event;
    std::vector<RunEvent> events;
    Rows rows = session.query(sql::list_events, run);
    while (rows.next()) {
        RunEvent& event = events.emplace_back();
        event.id = rows.integer(Event::event_id);
        event.run = rows.id<RunId>(Event::run_id);
        event.kind = rows.text(Event::kind);
        event.data.text = rows.text(Event::data);
        event.worker = rows.id<WorkerId>(Event::worker_id);
        event.delivery = rows.number(Event::delivery);
        event.at = rows.time(Event::at);
    }
    return events;
}

}  // namespace pawl::rowstore
