// The state of a run that operations check.
#pragma once

#include <pawl/run.h>
#include <pawl/workflow.h>
#include <string>
#include <string_view>

#include "model/event_kinds.h"
#include "rowstore/session.h"

namespace pawl::rowstore {

struct RunState {
    RunId id;
    RunStatus status = RunStatus::queued;
    bool deleted = false;
    QueueId workflow;
    std::string workflow_name;
    AuditLevel audit = AuditLevel::exceptions;
    int priority = 0;
    int delivery = 0;
    bool is_flow = false;
};

[[nodiscard]] std::optional<RunState> find_run_state(Session& session, RunId run);
// Throws run_not_found, run_deleted.
[[nodiscard]] RunState require_run(Session& session, RunId run);
// Also throws run_finished.
[[nodiscard]] RunState require_live_run(Session& session, RunId run);

// Adds an event if the audit level of the run's workflow includes it. `data` is JSON text.
void add_event(
    Session& session,
    const RunState& run,
    model::EventKind kind,
    std::string_view data,
    Timestamp now
);

// Adds the event of a new run if its workflow keeps all events.
void add_triggered(Session& session, RunId run, AuditLevel audit, Timestamp now);

[[nodiscard]] AuditLevel to_audit_level(std::string_view name);
[[nodiscard]] RunStatus to_run_status(std::string_view name);
[[nodiscard]] StepStatus to_step_status(std::string_view name);

}  // namespace pawl::rowstore
