// The history of a run, merged from its rows and its events: each fact once, in order.
#pragma once

#include <pawl/flow.h>
#include <pawl/run.h>
#include <string>
#include <vector>

namespace pawl::model {

struct RunRows {
    RunInfo run;
    std::vector<StepInfo> steps;  // in the run's order
    std::vector<TaskInfo> tasks;  // for a flow's run
};

// Ordered by time. Entries with equal times are ordered by causality: the deliveries of a run, the
// steps of a flow.
[[nodiscard]] std::vector<HistoryEntry> merge_history(
    const RunRows& rows, const std::vector<RunEvent>& events
);

// The entries that follow from the rows alone, unordered; `text` is left empty.
[[nodiscard]] std::vector<HistoryEntry> entries_of_rows(
    const RunRows& rows, const std::vector<RunEvent>& events
);
// An event as an entry. Its step, task and attempt are in its data.
[[nodiscard]] HistoryEntry entry_of_event(const RunEvent& event);
// A one-line description.
[[nodiscard]] std::string history_text(const HistoryEntry& entry, const RunInfo& run);

}  // namespace pawl::model
