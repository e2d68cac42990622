#include "rowstore/run/run_lookup.h"

#include <fmt/format.h>

#include "model/enum_names.h"
#include "model/event_kinds.h"
#include "model/texts.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

std::optional<RunState> find_run_state(Session& session, RunId run) {
    Rows rows = session.query(sql::run_state, run);
    if (!rows.next()) return std::nullopt;
    using Row = sql::row::RunState;
    RunState state;
    state.id = run;
    state.status = to_run_status(rows.text(Row::status));
    state.deleted = rows.flag(Row::is_deleted);
    state.workflow = rows.id<QueueId>(Row::workflow_id);
    state.workflow_name = rows.text(Row::workflow);
    state.audit = to_audit_level(rows.text(Row::audit));
    state.priority = rows.number(Row::priority);
    state.delivery = rows.number(Row::delivery);
    state.is_flow = rows.flag(Row::is_flow);
    return state;
}

RunState require_run(Session& session, RunId run) {
    auto state = find_run_state(session, run);
    if (!state)
        throw Error(ErrorCode::run_not_found, fmt::format(model::texts::run_missing, run.value()));
    if (state->deleted) {
        throw Error(ErrorCode::run_deleted, fmt::format(model::texts::run_deleted, run.value()));
    }
    return std::move(*state);
}

RunState require_live_run(Session& session, RunId run) {
    RunState state = require_run(session, run);
    if (!is_finished(state.status)) return state;
    throw Error(
        ErrorCode::run_finished,
        fmt::format(model::texts::run_ended, run.value(), to_string(state.status))
    );
}

void add_event(
    Session& session,
    const RunState& run,
    model::EventKind kind,
    std::string_view data,
    Timestamp now
) {
    if (!model::is_audited(run.audit, kind)) return;
    session.post(sql::add_event, run.id, to_string(kind), data, std::nullopt, run.delivery, now);
}

void add_triggered(Session& session, RunId run, AuditLevel audit, Timestamp now) {
    if (!model::is_audited(audit, model::EventKind::triggered)) return;
    session.post(
        sql::add_event,
        run,
        to_string(model::EventKind::triggered),
        std::string_view("{}"),
        std::nullopt,
        0,
        now
    );
}

AuditLevel to_audit_level(std::string_view name) {
    return model::stored_value(model::audit_levels, name, "audit level");
}

RunStatus to_run_status(std::string_view name) {
    return model::stored_value(model::run_statuses, name, "run status");
}

StepStatus to_step_status(std::string_view name) {
    return model::stored_value(model::step_statuses, name, "step status");
}

}  // namespace pawl::rowstore
