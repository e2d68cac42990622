// Checks a worker before it is registered.
#pragma once

#include <pawl/worker.h>
#include <vector>

#include "seam/engine.h"

namespace pawl::runtime {

// The parts of the store's state that the checks need.
struct Known {
    std::vector<QueueInfo> queues;
    std::vector<WorkflowInfo> workflows;
    std::vector<FlowShape> flows;  // those that the worker has handlers for
};

[[nodiscard]] std::vector<FlowShape> shapes_of(seam::Engine& backend, const WorkerOptions& options);

// Throws an Error that names the worker and the problem.
void check_worker(const WorkerOptions& options, seam::Engine& backend, const Known& known);

}  // namespace pawl::runtime
