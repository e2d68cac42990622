// Everything that the store has about one run, for people and as JSON.
#pragma once

#include <optional>
#include <pawl/flow.h>
#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/output/view.h"
#include "cli/output/worker_names.h"

namespace pawl::cli {

/// The steps of a run; for a flow with their dependencies.
struct RunSteps {
    RunInfo run;
    std::vector<StepInfo> steps;
    std::optional<FlowShape> flow;

    [[nodiscard]] std::string as_text(const View& view, WorkerNames& workers) const;
    [[nodiscard]] std::string as_json() const;
};
[[nodiscard]] RunSteps look_up_steps(const Store& store, RunId id);

struct RunDetails {
    RunSteps steps;
    std::vector<TaskInfo> tasks;  // only for the run of a flow
    std::vector<RunEvent> events;
    std::vector<RunInfo> lineage;  // including the run itself

    [[nodiscard]] std::string as_text(const View& view, WorkerNames& workers) const;
    [[nodiscard]] std::string as_json() const;
};
[[nodiscard]] RunDetails look_up(const Store& store, RunId id);

}  // namespace pawl::cli
