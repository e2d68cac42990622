// What is wrong with a worker, found before it is registered.
#pragma once

#include <pawl/worker.h>
#include <vector>

#include "seam/engine.h"

namespace pawl::runtime {

// What the store has.
struct Known {
    std::vector<QueueInfo> queues;
    std::vector<WorkflowInfo> workflows;
    std::vector<FlowShape> flows;  // those that the worker has handlers for
};

[[nodiscard]] std::vector<FlowShape> shapes_of(seam::Engine& backend, const WorkerOptions& options);

// Throws an Error whose message names the worker and what it has to be given.
void check_worker(const WorkerOptions& options, seam::Engine& backend, const Known& known);

}  // namespace pawl::runtime
