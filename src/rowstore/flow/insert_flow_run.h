// Creates runs of flows inside a write transaction: a run, its steps, and the tasks of steps
// without dependencies.
#pragma once

#include <string_view>

#include "rowstore/run/insert_run.h"

namespace pawl::rowstore {

[[nodiscard]] RunId insert_flow_run(
    WriteScope& scope,
    QueueId workflow,
    std::string_view input,
    const TriggerOptions& options,
    BadInput bad_input
);

// A retry or a fork: copied steps keep their outputs and the rows of their tasks.
[[nodiscard]] RunId copy_flow_run(
    WriteScope& scope, const CopiedRun& origin, const std::optional<ForkPoint>& fork
);

}  // namespace pawl::rowstore
