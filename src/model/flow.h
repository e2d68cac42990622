// Declarations of flows: their checks, and the differences between two. The SQL functions on
// PostgreSQL implement the same rules (sql/postgres/functions/flow/flows.sql).
#pragma once

#include <pawl/flow.h>
#include <span>
#include <string>
#include <string_view>

namespace pawl::model {

// All throw invalid_argument.
void check_flow_slug(std::string_view slug);
void check_flow_options(std::string_view slug, const FlowOptions& options);
// The checks that do not need the other steps of the flow.
void check_flow_step(std::string_view flow, const FlowStep& step);
// A step may only depend on steps that were added before it.
void check_flow_deps(
    std::string_view flow, const FlowStep& step, std::span<const FlowStep> earlier
);

// The stored value of a flow's or a step's max_attempts: 0 and 1 both mean no retry.
[[nodiscard]] std::optional<int> task_starts(const std::optional<int>& max_attempts);

// Removes duplicate dependencies and sorts them in the order of the flow's steps.
[[nodiscard]] FlowStep normalized(FlowStep step, std::span<const FlowStep> earlier);

// Describes how `given` differs from `stored`; empty if it does not. Options that `given` does not
// set are not compared.
[[nodiscard]] std::string difference(const FlowStep& stored, const FlowStep& given);
[[nodiscard]] std::string difference(const FlowShape& stored, const FlowShape& given);

// base_delay * 2^attempts, up to rules::longest_flow_delay.
[[nodiscard]] Duration flow_retry_delay(Duration base, int attempts);

}  // namespace pawl::model
