// Starts the runs whose messages a claim took, and loads their input and, if they were delivered
// before, their recorded steps.
#pragma once

#include <optional>
#include <pawl/workflow.h>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/rules.h"
#include "rowstore/session.h"
#include "seam/claim.h"

namespace pawl::rowstore {

class RunStarter {
public:
    RunStarter(Session& session, WorkerId worker, Timestamp now)
        : session_(session), worker_(worker), now_(now) {}

    // Keeps the rows of the statement ready_runs for start().
    void read_ahead(Rows&& rows);
    // Announces the query of start(). Only for sessions with costly round trips.
    void prefetch(RunId run);

    // Sets the payload of the message to the run's input. None if the message does not belong to a
    // run. Steps are loaded by load_steps().
    [[nodiscard]] std::optional<seam::ClaimedRun> start(
        std::size_t index, Message& message, AuditLevel audit
    );
    // Loads the steps of the runs that start() returned, by index.
    void load_steps(std::vector<std::optional<seam::ClaimedRun>>& runs);

private:
    struct RunRow {
        std::optional<int> max_attempts;
        std::optional<Timestamp> started_at;
        bool is_copy = false;  // a retry or a fork
        bool running = false;
        bool paused = false;
    };
    [[nodiscard]] static RunRow read_row(const Rows& rows);
    // Sets the payload of the message to the input.
    [[nodiscard]] std::optional<RunRow> find(RunId run, Message& message);
    [[nodiscard]] bool read_steps(RunId id, seam::ClaimedRun& run);
    void load_steps(RunId id, seam::ClaimedRun& run);

    struct KeptRow {
        RunRow row;
        std::string input;
    };
    struct WorkedOn {
        std::size_t index;
        RunId run;
    };

    Session& session_;
    const WorkerId worker_;
    const Timestamp now_;
    std::int64_t bytes_left_ = model::rules::claim_step_bytes;
    std::unordered_map<RunId, KeptRow> kept_;
    std::unordered_set<RunId> announced_;
    std::vector<WorkedOn> worked_on_;
};

// Reads a row of the statement recorded_steps.
[[nodiscard]] seam::ReplayStep read_recorded_step(const Rows& rows);

}  // namespace pawl::rowstore
