#include "rowstore/commit/calls.h"

#include <fmt/format.h>
#include <span>

#include "model/event_data.h"
#include "model/event_kinds.h"
#include "model/run_error.h"
#include "model/texts.h"
#include "rowstore/commit/run_settler.h"
#include "rowstore/commit/task_settler.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

bool has_calls(WriteScope& scope) {
    if (!scope.has_calls) {
        Rows rows = scope.session.query(sql::has_calls);
        scope.has_calls = rows.next() && rows.flag(0);
    }
    return *scope.has_calls;
}

std::optional<Caller> take_caller(Session& session, RunId run) {
    Caller caller;
    {
        using Row = sql::row::FindCall;
        Rows rows = session.query(sql::find_call, run);
        if (!rows.next()) return std::nullopt;
        caller.run = rows.id<RunId>(Row::caller_run_id);
        caller.step = rows.text(Row::caller_step);
        if (!rows.null(Row::caller_task)) caller.task = rows.number(Row::caller_task);
    }
    session.post(sql::delete_call, run);
    return caller;
}

CallResult read_result(Session& session, RunId run) {
    CallResult result;
    using Row = sql::row::RunResult;
    Rows rows = session.query(sql::run_result, run);
    if (!rows.next()) return result;
    result.succeeded = to_run_status(rows.text(Row::status)) == RunStatus::success;
    result.output = rows.text(Row::output);
    if (!result.succeeded) {
        result.message = fmt::format(
            model::texts::called_run_ended,
            run.value(),
            rows.text(Row::workflow),
            rows.text(Row::status),
            model::to_run_error(Json{std::string(rows.text(Row::error))}).message
        );
    }
    return result;
}

void end_step(WriteScope& scope, const Caller& caller, const CallResult& result) {
    Session& session = scope.session;
    std::optional<std::string> output;
    std::optional<std::string> error;
    if (result.succeeded) {
        output = result.output;
    } else {
        error = model::to_json({"call_failed", result.message, caller.step, 1}).text;
    }
    const auto ended = session.execute(
        sql::end_called_step,
        caller.run,
        std::string_view(caller.step),
        to_string(result.succeeded ? StepStatus::success : StepStatus::error),
        output,
        error,
        scope.now
    );
    const auto run = find_run_state(session, caller.run);
    if (ended == 0 || !run || is_finished(run->status)) return;
    session.post(sql::wake_message, caller.run, scope.now);
    session.post(sql::resume_run, caller.run, scope.now);
    if (error) {
        add_event(session, *run, model::EventKind::step_failed, *error, scope.now);
    } else {
        const std::string data = model::event_data({.step = caller.step, .attempt = 1});
        add_event(session, *run, model::EventKind::step_succeeded, data, scope.now);
    }
    scope.wakeups.add(run->workflow);
}

void notify_caller(WriteScope& scope, RunId run) {
    const auto caller = take_caller(scope.session, run);
    if (!caller) return;
    const CallResult result = read_result(scope.session, run);
    if (caller->task) {
        TaskSettler(scope).end_call({caller->run, caller->step, *caller->task}, result);
    } else {
        end_step(scope, *caller, result);
    }
}

// The call is deleted first, so that the cancellation is not reported to the caller.
void cancel_run(WriteScope& scope, RunId run, const std::string& reason) {
    scope.session.post(sql::delete_call, run);
    const auto state = find_run_state(scope.session, run);
    if (state && !is_finished(state->status)) RunSettler(scope).cancel(*state, reason);
}

struct CalledRun {
    RunId run;
    std::optional<int> task;
};

std::vector<CalledRun> runs_called(
    Session& session, RunId caller, const std::optional<Called>& only
) {
    using Row = sql::row::CalledRuns;
    std::vector<CalledRun> runs;
    Rows rows = session.query(sql::called_runs, caller);
    while (rows.next()) {
        std::optional<int> task;
        if (!rows.null(Row::caller_task)) task = rows.number(Row::caller_task);
        const bool wanted = !only || (rows.text(Row::caller_step) == only->step &&
                                      (!only->task || task == only->task));
        if (wanted) runs.push_back({rows.id<RunId>(Row::run_id), task});
    }
    return runs;
}

void cancel_all_called(WriteScope& scope, RunId caller) {
    const auto runs = runs_called(scope.session, caller, std::nullopt);
    if (runs.empty()) return;
    const auto state = find_run_state(scope.session, caller);
    if (!state || state->status == RunStatus::success) return;
    const std::string reason =
        fmt::format(model::texts::caller_ended, caller.value(), to_string(state->status));
    for (const CalledRun& called : runs) cancel_run(scope, called.run, reason);
}

}  // namespace

// A step or task that already waits for a run keeps waiting for that one, so each run is created
// once without an idempotency key, and no producer can take its place.
void call(WriteScope& scope, const NewRun& run, const Caller& caller) {
    if (!runs_called(scope.session, caller.run, Called{caller.step, caller.task}).empty()) return;
    const auto made = insert_runs(scope, std::span(&run, 1)).front();
    scope.session.post(
        sql::insert_call, made.run, caller.run, std::string_view(caller.step), caller.task
    );
    scope.has_calls = true;
    if (made.created) return;  // a new run that has already failed is in scope.ended
    const auto state = find_run_state(scope.session, made.run);
    if (state && is_finished(state->status)) scope.ended.push_back(made.run);
}

void cancel_called(WriteScope& scope, RunId caller, const Called& by) {
    if (!has_calls(scope)) return;
    for (const CalledRun& called : runs_called(scope.session, caller, by)) {
        cancel_run(
            scope,
            called.run,
            fmt::format(
                model::texts::task_waits_no_longer, called.task.value_or(0), by.step, caller.value()
            )
        );
    }
}

void settle_ends(WriteScope& scope) {
    do {
        settle_maps(scope);
        settle_calls(scope);
    } while (!scope.map_progress.empty());
}

void settle_calls(WriteScope& scope) {
    while (!scope.ended.empty()) {
        if (!has_calls(scope)) {
            scope.ended.clear();
            return;
        }
        const RunId run = scope.ended.back();
        scope.ended.pop_back();
        notify_caller(scope, run);
        cancel_all_called(scope, run);
    }
}

}  // namespace pawl::rowstore
