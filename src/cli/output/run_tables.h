// Runs, steps, tasks and events for people.
#pragma once

#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/output/worker_names.h"

namespace pawl::cli {

[[nodiscard]] std::string run_table(const std::vector<RunInfo>& runs);
/// In the order of the run; started: since the run's own start.
[[nodiscard]] std::string step_table(
    const RunInfo& run, const std::vector<StepInfo>& steps, WorkerNames& workers
);
/// All that the run row says; what says nothing is left out.
[[nodiscard]] std::string run_fields(const RunInfo& run, WorkerNames& workers);
[[nodiscard]] std::string event_table(const std::vector<RunEvent>& events, WorkerNames& workers);
[[nodiscard]] std::string history_table(
    const std::vector<HistoryEntry>& entries, WorkerNames& workers
);
[[nodiscard]] std::string lineage_table(const RunInfo& run, const std::vector<RunInfo>& lineage);
/// "2 queued, 0 running, ..."
[[nodiscard]] std::string in_words(const RunCounts& counts);

/// "+2.5s" since the start of the run; of a flow's since its creation.
[[nodiscard]] std::string since_start(const RunInfo& run, const std::optional<Timestamp>& time);
[[nodiscard]] std::string or_dash(std::string text);
/// From start to end; "-" while one of them is missing.
[[nodiscard]] std::string took(
    const std::optional<Timestamp>& start, const std::optional<Timestamp>& end
);

}  // namespace pawl::cli
