// Creates runs inside a write transaction: a run and a message with the same id. Runs of flows have
// tasks instead (insert_flow_run.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rowstore/commit/write_scope.h"
#include "seam/backend.h"

namespace pawl::rowstore {

// A flow's run whose input is not the array that a root map needs is refused or, if the engine
// itself creates the run and no caller could handle an error, created as ERROR.
enum class BadInput { refused, fails_the_run };

// All or nothing within the transaction. Throws workflow_not_found, invalid_argument.
[[nodiscard]] std::vector<seam::Triggered> insert_runs(
    WriteScope& scope, std::span<const NewRun> runs, BadInput bad_input = BadInput::refused
);

// Announces the queries of insert_runs(), so that the first request of its transaction carries
// them. Returns the reserved ids, for WriteScope::message_ids.
[[nodiscard]] MessageIds prefetch_trigger(Session& session, std::span<const NewRun> runs);

// Called once for each run that fails.
void insert_dead_letter_run(WriteScope& scope, RunId failed, std::string_view error);

// A retry copies all finished steps, a fork those before its step.
struct ForkPoint {
    std::string_view step;
    int position = 0;
};
struct CopiedRun {
    RunId run;
    QueueId workflow;
    int priority = 0;
    AuditLevel audit = AuditLevel::exceptions;
};
[[nodiscard]] RunId copy_run(
    WriteScope& scope, const CopiedRun& origin, const std::optional<ForkPoint>& fork
);

struct FoundWorkflow {
    QueueId id;
    bool is_flow = false;
    AuditLevel audit = AuditLevel::exceptions;
};
// Throws workflow_not_found.
[[nodiscard]] FoundWorkflow require_workflow(Session& session, const std::string& name);

}  // namespace pawl::rowstore
