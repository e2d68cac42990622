// Makes runs of flows inside a write transaction: a run, its steps, and the tasks of those that
// wait for nothing.
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

// A retry or a fork: steps that are taken over keep their outputs and their tasks' rows.
[[nodiscard]] RunId copy_flow_run(
    WriteScope& scope, const CopiedRun& origin, const std::optional<ForkPoint>& fork
);

}  // namespace pawl::rowstore
