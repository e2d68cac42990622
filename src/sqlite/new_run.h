// Makes runs inside a write transaction: a message, and with the same number a run.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "sqlite/session.h"
#include "sqlite/wakeups.h"
#include "store/backend.h"

namespace pawl::sqlite {

// All or nothing where the transaction is; throws workflow_not_found.
[[nodiscard]] std::vector<store::Triggered> insert_runs(
    Session& session, std::span<const NewRun> runs, Timestamp now, Wakeups& wakeups
);

// Triggered once for each run that failed, whoever tries.
void insert_dead_letter_run(
    Session& session, RunId failed, std::string_view error, Timestamp now, Wakeups& wakeups
);

// A retry takes all finished steps over; a fork those before its step.
struct ForkPoint {
    std::string_view step;
    int position = 0;
};
struct CopiedRun {
    RunId run;
    QueueId workflow;
    int priority = 0;
};
[[nodiscard]] RunId copy_run(
    Session& session, const CopiedRun& origin, const std::optional<ForkPoint>& fork, Timestamp now
);

// Throws workflow_not_found.
[[nodiscard]] QueueId require_workflow(Session& session, const std::string& name);

}  // namespace pawl::sqlite
