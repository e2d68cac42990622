// What a claim does with the runs whose messages it took: starts them, and brings their input and,
// where they have been worked on before, their recorded steps.
#pragma once

#include <optional>
#include <pawl/workflow.h>
#include <vector>

#include "model/rules.h"
#include "rowstore/session.h"
#include "seam/claim.h"

namespace pawl::rowstore {

class RunStarter {
public:
    RunStarter(Session& session, WorkerId worker, Timestamp now)
        : session_(session), worker_(worker), now_(now) {}

    // Puts the run's input into the message. None for a message that is no run.
    [[nodiscard]] std::optional<seam::ClaimedRun> start(Message& message, AuditLevel audit);

private:
    [[nodiscard]] bool read_steps(RunId id, seam::ClaimedRun& run);
    void load_steps(RunId id, seam::ClaimedRun& run);

    Session& session_;
    const WorkerId worker_;
    const Timestamp now_;
    std::int64_t bytes_left_ = model::rules::claim_step_bytes;
};

// Of the statement recorded_steps.
[[nodiscard]] seam::ReplayStep read_recorded_step(const Rows& rows);

}  // namespace pawl::rowstore
