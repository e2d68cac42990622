// Checks of a step's input before it starts.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rowstore/flow/flow_plans.h"

namespace pawl::rowstore {

enum class Verdict { met, unmet, impossible };

// Compares a step's input with its patterns. `why` is the reason if that is impossible.
[[nodiscard]] Verdict judge_condition(
    const FlowStep& step, const std::string& input, std::string& why
);

// Throws invalid_argument if a root map of the flow would start and the run's input is not an
// array.
void check_root_input(const FlowPlan& plan, std::string_view input);

// The maps that depend on the step and would start now, if its output is not an array. Some of them
// may be newer than the run.
[[nodiscard]] std::vector<int> find_starved_maps(
    const FlowPlan& plan, int step, std::string_view output
);

}  // namespace pawl::rowstore
