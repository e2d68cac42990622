// Makes runs inside a write transaction: a message, and with the same number a run. A flow's have
// tasks instead (new_flow_run.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "rowstore/commit/write_scope.h"
#include "seam/backend.h"

namespace pawl::rowstore {

// What becomes of a flow's run whose input is not the array that a root map needs: it is refused,
// or (the engine's own runs, with no caller to read an error) created and ERROR from the start.
enum class BadInput { refused, fails_the_run };

// All or nothing where the transaction is; throws workflow_not_found, invalid_argument.
[[nodiscard]] std::vector<seam::Triggered> insert_runs(
    WriteScope& scope, std::span<const NewRun> runs, BadInput bad_input = BadInput::refused
);

// Triggered once for each run that failed, whoever tries.
void insert_dead_letter_run(WriteScope& scope, RunId failed, std::string_view error);

// A retry takes all finished steps over; a fork those before its step.
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
