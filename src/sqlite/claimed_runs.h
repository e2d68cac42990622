// What a claim does with the runs whose messages it took: starts them, and brings their input and,
// where they have been worked on before, their recorded steps.
#pragma once

#include <optional>
#include <pawl/workflow.h>
#include <vector>

#include "sqlite/session.h"
#include "store/batch.h"

namespace pawl::sqlite {

class ClaimedRuns {
public:
    ClaimedRuns(Session& session, WorkerId worker, Timestamp now)
        : session_(session), worker_(worker), now_(now) {}

    // Puts the run's input into the message. None for a message that is no run.
    [[nodiscard]] std::optional<store::ClaimedRun> start(Message& message, AuditLevel audit);

private:
    [[nodiscard]] bool read_steps(RunId id, store::ClaimedRun& run);
    void load_steps(RunId id, store::ClaimedRun& run);

    Session& session_;
    const WorkerId worker_;
    const Timestamp now_;
    std::int64_t bytes_left_ = store::claim_step_bytes;
};

// Of the statement recorded_steps.
[[nodiscard]] store::RecordedStep read_recorded_step(const Rows& rows);

}  // namespace pawl::sqlite
