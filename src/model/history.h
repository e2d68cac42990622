// The story of a run: what its rows show, and what only events tell any more, in one order and each
// thing once.
#pragma once

#include <pawl/flow.h>
#include <pawl/run.h>
#include <string>
#include <vector>

namespace pawl::model {

struct RunRows {
    RunInfo run;
    std::vector<StepInfo> steps;  // in the order of the run
    std::vector<TaskInfo> tasks;  // of a flow's run
};

// By time. What has one time is ordered by what can only have come before what: the hand-outs of a
// run, the steps of a flow.
[[nodiscard]] std::vector<HistoryEntry> merge_history(
    const RunRows& rows, const std::vector<RunEvent>& events
);

// What the rows alone tell, in no order; `text` is left empty.
[[nodiscard]] std::vector<HistoryEntry> told_by_rows(
    const RunRows& rows, const std::vector<RunEvent>& events
);
// An event as an entry: its step, task and attempt stand in its data.
[[nodiscard]] HistoryEntry told_by_event(const RunEvent& event);
// One line for people.
[[nodiscard]] std::string history_text(const HistoryEntry& entry, const RunInfo& run);

}  // namespace pawl::model
