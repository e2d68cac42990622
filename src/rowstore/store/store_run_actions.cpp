#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/check.h"
#include "model/event_kinds.h"
#include "model/texts.h"
#include "rowstore/commit/run_settler.h"
#include "rowstore/flow/insert_flow_run.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct StepState {
    StepStatus status = StepStatus::pending;
    bool sleeps = false;
    int position = 0;
};

std::optional<StepState> find_step(Session& session, RunId run, const std::string& step) {
    using Row = sql::row::StepState;
    Rows rows = session.query(sql::step_state, run, std::string_view(step));
    if (!rows.next()) return std::nullopt;
    return StepState{
        to_step_status(rows.text(Row::status)),
        rows.flag(Row::is_sleep),
        rows.number(Row::position)};
}

bool has_result(const StepState& step) {
    return step.status == StepStatus::success || step.status == StepStatus::error ||
           step.status == StepStatus::skipped;
}

// "waits at step 'approval'", "sleeps at step 'sleep'", "is RUNNING".
std::string describe_wait(Session& session, const RunState& run) {
    std::string text;
    using Row = sql::row::PausedSteps;
    Rows rows = session.query(sql::paused_steps, run.id);
    while (rows.next()) {
        if (!text.empty()) text += " and ";
        const std::string_view step = rows.text(Row::step_id);
        if (rows.flag(Row::is_sleep)) {
            text += fmt::format(model::texts::sleeps_at, step);
        } else if (!rows.null(Row::called_run_id)) {
            text +=
                fmt::format(model::texts::waits_at_call, step, rows.integer(Row::called_run_id));
        } else {
            text += fmt::format(model::texts::waits_at, step);
        }
    }
    return text.empty() ? fmt::format("is {}", to_string(run.status)) : text;
}

[[noreturn]] void refuse_early(Session& session, const RunState& run, const std::string& step) {
    throw Error(
        ErrorCode::step_not_waiting,
        fmt::format(
            model::texts::step_not_waiting, step, run.id.value(), describe_wait(session, run)
        )
    );
}

void resume_paused(
    Session& session, const RunState& run, const std::string& step, const Json& data, Timestamp now
) {
    {
        Rows rows = session.query(sql::called_run, run.id, std::string_view(step));
        if (rows.next()) {
            model::refuse(
                fmt::format(model::texts::step_calls, step, run.id.value(), rows.integer(0))
            );
        }
    }
    session.post(sql::reset_attempts, run.id);
    session.post(
        sql::resume_step, run.id, std::string_view(step), std::string_view(data.text), now
    );
    session.post(sql::wake_message, run.id, now);
    session.post(sql::resume_run, run.id, now);
}

struct Resumption {
    const std::string& step;
    const Json& data;
    const ResumeOptions& options;
};

void resume_step(
    Session& session, const RunState& run, const Resumption& resumption, Timestamp now
) {
    const auto& [step, data, options] = resumption;
    const auto found = find_step(session, run.id, step);
    if (found && has_result(*found))
        model::refuse(
            ErrorCode::step_finished,
            fmt::format(model::texts::step_ended, step, run.id.value(), to_string(found->status))
        );
    if (found && found->status == StepStatus::paused) {
        if (found->sleeps)
            model::refuse(fmt::format(model::texts::step_sleeps, step, run.id.value()));
        resume_paused(session, run, step, data, now);
        return;
    }
    if (!options.early) refuse_early(session, run, step);
    const auto kept = session.execute(
        sql::keep_signal, run.id, std::string_view(step), std::string_view(data.text), now
    );
    if (kept == 0)
        model::refuse(
            ErrorCode::step_finished, fmt::format(model::texts::step_resumed, step, run.id.value())
        );
}

RunId copy(WriteScope& scope, const RunState& run, const std::optional<ForkPoint>& fork) {
    const CopiedRun origin{run.id, run.workflow, run.priority, run.audit};
    scope.wakeups.add(run.workflow);
    return run.is_flow ? copy_flow_run(scope, origin, fork) : copy_run(scope, origin, fork);
}

}  // namespace

void RowStore::resume(
    RunId run, const std::string& step, const Json& data, const ResumeOptions& options
) {
    const QueueId workflow = write([&](Session& session, Timestamp now) {
        const RunState state = require_live_run(session, run);
        if (state.is_flow) {
            throw Error(
                ErrorCode::invalid_argument, fmt::format(model::texts::run_of_flow, run.value())
            );
        }
        resume_step(session, state, {step, data, options}, now);
        add_event(
            session,
            state,
            model::EventKind::resumed,
            fmt::format(R"({{"step":{}}})", quoted(step)),
            now
        );
        return state.workflow;
    });
    hub_.notify(workflow);
}

seam::Rejection RowStore::reject_resume(
    const Lease& lease, const std::string& step, const std::string& message, Duration check_after
) {
    return change([&](WriteScope& scope) {
        return RunSettler(scope).reject(lease, step, message, check_after);
    });
}

void RowStore::cancel(RunId run, const std::string& reason) {
    change([&](WriteScope& scope) {
        RunSettler(scope).cancel(require_live_run(scope.session, run), reason);
    });
}

void RowStore::wake(RunId run) {
    const QueueId workflow = write([&](Session& session, Timestamp now) {
        const RunState state = require_live_run(session, run);
        const store::Statement& wakes = state.is_flow ? sql::wake_tasks : sql::wake_message;
        if (session.execute(wakes, run, now) > 0) {
            add_event(session, state, model::EventKind::woken, "{}", now);
        } else if (is_lost(session, state)) {
            throw Error(
                ErrorCode::message_not_found,
                fmt::format(model::texts::run_lost_message, run.value(), to_string(state.status))
            );
        }
        return state.workflow;
    });
    hub_.notify(workflow);
}

RunId RowStore::retry(RunId run) {
    return change([&](WriteScope& scope) {
        const RunState state = require_run(scope.session, run);
        if (state.status != RunStatus::error && state.status != RunStatus::cancelled) {
            throw Error(
                ErrorCode::run_not_failed,
                fmt::format(model::texts::run_not_failed, run.value(), to_string(state.status))
            );
        }
        const RunId copied = copy(scope, state, std::nullopt);
        const std::string data = fmt::format(R"({{"run_id":{}}})", copied.value());
        add_event(scope.session, state, model::EventKind::retried, data, scope.now);
        return copied;
    });
}

RunId RowStore::fork(RunId run, const std::string& from_step) {
    return change([&](WriteScope& scope) {
        const RunState state = require_run(scope.session, run);
        const auto step = find_step(scope.session, run, from_step);
        if (!step) {
            throw Error(
                ErrorCode::step_not_found,
                fmt::format(model::texts::run_without_step, run.value(), from_step)
            );
        }
        const RunId copied = copy(scope, state, ForkPoint{from_step, step->position});
        const std::string data =
            fmt::format(R"({{"run_id":{},"step":{}}})", copied.value(), quoted(from_step));
        add_event(scope.session, state, model::EventKind::forked, data, scope.now);
        return copied;
    });
}

void RowStore::delete_run(RunId run, const std::string& reason) {
    change([&](WriteScope& scope) {
        const RunState state = require_run(scope.session, run);
        if (!is_finished(state.status)) RunSettler(scope).cancel(state, reason);
        scope.session.post(sql::soft_delete_run, run, std::string_view(reason), scope.now);
        const std::string data = fmt::format(R"({{"reason":{}}})", quoted(reason));
        add_event(scope.session, state, model::EventKind::deleted, data, scope.now);
        if (is_finished(state.status)) scope.wakeups.cancelled.push_back(run);
    });
}

}  // namespace pawl::rowstore
