// Runs, steps, tasks and events for people.
#pragma once

#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/output/run_wait.h"
#include "cli/output/view.h"
#include "cli/output/worker_names.h"

namespace pawl::cli {

/// `now` is the store's, for ages.
[[nodiscard]] std::string run_table(
    const View& view, const std::vector<RunInfo>& runs, const RunWaits& waits, Timestamp now
);
/// In the order of the run; STARTED counts from the run's own start.
[[nodiscard]] std::string step_table(
    const View& view, const RunInfo& run, const std::vector<StepInfo>& steps, WorkerNames& workers
);
/// The fields of a run that have a value, and what it waits for.
[[nodiscard]] std::string run_fields(
    const View& view, const RunInfo& run, const std::optional<RunWait>& wait, WorkerNames& workers
);
[[nodiscard]] std::string event_table(
    const View& view, const std::vector<RunEvent>& events, WorkerNames& workers
);
[[nodiscard]] std::string history_table(
    const View& view, const std::vector<HistoryEntry>& entries, WorkerNames& workers
);
[[nodiscard]] std::string lineage_table(
    const View& view, const RunInfo& run, const std::vector<RunInfo>& lineage
);
/// "2 queued, 0 running, ..."
[[nodiscard]] std::string in_words(const RunCounts& counts);

/// "+2.5s" since the start of the run; for a flow since its creation.
[[nodiscard]] std::string since_start(const RunInfo& run, const std::optional<Timestamp>& time);
[[nodiscard]] std::string or_dash(std::string text);
/// From start to end; "-" if one of them is missing.
[[nodiscard]] std::string took(
    const std::optional<Timestamp>& start, const std::optional<Timestamp>& end
);

}  // namespace pawl::cli
