// Flows as they are declared: what is wrong with a declaration, and what makes two differ. The SQL
// functions on PostgreSQL say the same (sql/postgres/functions/flow/flows.sql).
#pragma once

#include <pawl/flow.h>
#include <span>
#include <string>
#include <string_view>

namespace pawl::model {

// All throw invalid_argument.
void check_flow_slug(std::string_view slug);
void check_flow_options(std::string_view slug, const FlowOptions& options);
// What can be said without the flow that the step is added to.
void check_flow_step(std::string_view flow, const FlowStep& step);
// A step may only depend on steps that are there.
void check_flow_deps(
    std::string_view flow, const FlowStep& step, std::span<const FlowStep> earlier
);

// What is stored of a flow's or a step's max_attempts: 0 and 1 both mean no retry.
[[nodiscard]] std::optional<int> task_starts(const std::optional<int>& max_attempts);

// Each dependency once, in the order in which they were declared in the flow.
[[nodiscard]] FlowStep normalized(FlowStep step, std::span<const FlowStep> earlier);

// What makes `given` another one than `stored`, in words; empty where nothing does. Of options that
// `given` leaves out nothing is said.
[[nodiscard]] std::string difference(const FlowStep& stored, const FlowStep& given);
[[nodiscard]] std::string difference(const FlowShape& stored, const FlowShape& given);

// base_delay * 2^attempts, at most rules::longest_flow_delay.
[[nodiscard]] Duration flow_retry_delay(Duration base, int attempts);

}  // namespace pawl::model
