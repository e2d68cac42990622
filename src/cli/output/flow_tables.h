// Flows, their steps and tasks for people.
#pragma once

#include <pawl/flow.h>
#include <pawl/run.h>
#include <string>
#include <vector>

#include "cli/output/worker_names.h"

namespace pawl::cli {

/// "max attempts 3, base delay 5s, timeout 1m"
[[nodiscard]] std::string flow_settings(const FlowOptions& options);
/// As it is declared; "-" is the flow's.
[[nodiscard]] std::string flow_shape_table(const FlowShape& shape);
/// What the step depends on; nothing where the flow does not have it.
[[nodiscard]] std::vector<std::string> dependencies(const FlowShape& flow, const std::string& step);

/// In the order of the flow.
[[nodiscard]] std::string flow_step_table(
    const RunInfo& run, const std::vector<StepInfo>& steps, const FlowShape& flow
);
/// By step and index. Of very many, those that are neither waiting nor done.
[[nodiscard]] std::string task_table(
    const RunInfo& run, const std::vector<TaskInfo>& tasks, WorkerNames& workers
);
/// Those that were just handed out.
[[nodiscard]] std::string polled_table(const std::vector<Task>& tasks);

}  // namespace pawl::cli
