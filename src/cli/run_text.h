// Runs, steps and events for people.
#pragma once

#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/worker_names.h"

namespace pawl::cli {

/// Everything the store keeps about one run.
struct RunStory {
    RunInfo run;
    std::vector<StepInfo> steps;
    std::vector<RunEvent> events;
    std::vector<RunInfo> lineage;  // with the run itself

    [[nodiscard]] std::string as_text(WorkerNames& workers) const;
    [[nodiscard]] std::string as_json() const;
};
[[nodiscard]] RunStory look_up(const Store& store, RunId id);

[[nodiscard]] std::string run_table(const std::vector<RunInfo>& runs);
/// In the order of the run; started: since the run's own start.
[[nodiscard]] std::string step_table(
    const RunInfo& run, const std::vector<StepInfo>& steps, WorkerNames& workers
);
/// "2 queued, 0 running, ..."
[[nodiscard]] std::string in_words(const RunCounts& counts);

/// From start to end; "-" while one of them is missing.
[[nodiscard]] std::string took(
    const std::optional<Timestamp>& start, const std::optional<Timestamp>& end
);

}  // namespace pawl::cli
