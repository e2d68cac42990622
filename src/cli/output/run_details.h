// Everything the store keeps about one run, for people and as JSON.
#pragma once

#include <optional>
#include <pawl/flow.h>
#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/output/worker_names.h"

namespace pawl::cli {

/// The steps of a run; of a flow's with what they depend on.
struct RunSteps {
    RunInfo run;
    std::vector<StepInfo> steps;
    std::optional<FlowShape> flow;

    [[nodiscard]] std::string as_text(WorkerNames& workers) const;
    [[nodiscard]] std::string as_json() const;
};
[[nodiscard]] RunSteps look_up_steps(const Store& store, RunId id);

struct RunStory {
    RunSteps steps;
    std::vector<TaskInfo> tasks;  // of a flow's run
    std::vector<RunEvent> events;
    std::vector<RunInfo> lineage;  // with the run itself

    [[nodiscard]] std::string as_text(WorkerNames& workers) const;
    [[nodiscard]] std::string as_json() const;
};
[[nodiscard]] RunStory look_up(const Store& store, RunId id);

}  // namespace pawl::cli
