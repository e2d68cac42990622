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
        Rows rows = session.query(sql::find_call, run);
        if (!rows.next()) return std::nullopt;
        caller.run = rows.id<RunId>(0);
        caller.step = rows.text(1);
        if (!rows.null(2)) caller.task = rows.number(2);
    }
    session.post(sql::delete_call, run);
    return caller;
}

CallResult read_result(Session& session, RunId run) {
    CallResult result;
    Rows rows = session.query(sql::run_result, run);
    if (!rows.next()) return result;
    result.succeeded = to_run_status(rows.text(0)) == RunStatus::success;
    result.output = rows.text(1);
    if (!result.succeeded) {
        result.message = fmt::format(
            model::texts::called_run_ended,
            run.value(),
            rows.text(3),
            rows.text(0),
            model::to_run_error(Json{std::string(rows.text(2))}).message
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

void tell_caller(WriteScope& scope, RunId run) {
    const auto caller = take_caller(scope.session, run);
    if (!caller) return;
    const CallResult result = read_result(scope.session, run);
    if (caller->task) {
        TaskSettler(scope).end_call({caller->run, caller->step, *caller->task}, result);
    } else {
        end_step(scope, *caller, result);
    }
}

// Each forgotten before it is cancelled: nobody wants to hear of its end.
void cancel_runs(WriteScope& scope, const std::vector<RunId>& runs, const std::string& reason) {
    for (const RunId run : runs) {
        scope.session.post(sql::delete_call, run);
        const auto state = find_run_state(scope.session, run);
        if (state && !is_finished(state->status)) RunSettler(scope).cancel(*state, reason);
    }
}

std::vector<RunId> runs_called(Session& session, RunId caller, const std::optional<Called>& only) {
    std::vector<RunId> runs;
    Rows rows = session.query(sql::called_runs, caller);
    while (rows.next()) {
        const bool wanted =
            !only || (rows.text(1) == only->step &&
                      (!only->task || (!rows.null(2) && rows.number(2) == *only->task)));
        if (wanted) runs.push_back(rows.id<RunId>(0));
    }
    return runs;
}

void cancel_all_called(WriteScope& scope, RunId caller) {
    const auto runs = runs_called(scope.session, caller, std::nullopt);
    if (runs.empty()) return;
    const auto state = find_run_state(scope.session, caller);
    if (!state || state->status == RunStatus::success) return;
    cancel_runs(
        scope,
        runs,
        fmt::format(model::texts::caller_ended, caller.value(), to_string(state->status))
    );
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
    if (made.created) return;  // where it has ended on the spot, it says so itself
    const auto state = find_run_state(scope.session, made.run);
    if (state && is_finished(state->status)) scope.ended.push_back(made.run);
}

void cancel_called(WriteScope& scope, RunId caller, const Called& by) {
    if (!has_calls(scope)) return;
    cancel_runs(
        scope,
        runs_called(scope.session, caller, by),
        fmt::format(
            "{}step '{}' of run {} does not wait for it any more",
            by.task ? fmt::format("task {} of ", *by.task) : "",
            by.step,
            caller.value()
        )
    );
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
        tell_caller(scope, run);
        cancel_all_called(scope, run);
    }
}

}  // namespace pawl::rowstore
