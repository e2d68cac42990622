// Flows, their steps and tasks for people.
#pragma once

#include <pawl/flow.h>
#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/output/view.h"
#include "cli/output/worker_names.h"

namespace pawl::cli {

/// "max attempts 3, backoff base 5s, timeout 1m"
[[nodiscard]] std::string flow_settings(const FlowOptions& options);
/// As it is declared; "-" means the setting of the flow.
[[nodiscard]] std::string flow_shape_table(const View& view, const FlowShape& shape);
/// The steps that the step depends on; empty if the flow does not have the step.
[[nodiscard]] std::vector<std::string> dependencies(const FlowShape& flow, const std::string& step);

/// In the order of the flow.
[[nodiscard]] std::string flow_step_table(
    const View& view, const RunInfo& run, const std::vector<StepInfo>& steps, const FlowShape& flow
);
/// By step and index. Of more than 100 tasks, those that are running or have an error.
[[nodiscard]] std::string task_table(
    const View& view, const RunInfo& run, const std::vector<TaskInfo>& tasks, WorkerNames& workers
);
/// Tasks that were just delivered, with their whole input.
[[nodiscard]] std::string polled_table(const std::vector<Task>& tasks);

}  // namespace pawl::cli
