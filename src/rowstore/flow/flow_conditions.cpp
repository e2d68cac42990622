#include "rowstore/flow/flow_conditions.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pawl/error.h>

#include "model/json_contains.h"
#include "model/json_elements.h"
#include "model/texts.h"

namespace pawl::rowstore {

Verdict judge_condition(const FlowStep& step, const std::string& input, std::string& why) {
    const auto& required = step.options.required_input_pattern;
    const auto& forbidden = step.options.forbidden_input_pattern;
    if (!required && !forbidden) return Verdict::met;
    try {
        // Both stores refuse values that one of them cannot compare.
        if (model::holds_zero_character(input))
            throw std::runtime_error("a string holds the character \\u0000");
        const auto value = nlohmann::json::parse(input);
        const auto contained = [&](const Json& pattern) {
            return model::contains(value, nlohmann::json::parse(pattern.text));
        };
        const bool met =
            (!required || contained(*required)) && !(forbidden && contained(*forbidden));
        return met ? Verdict::met : Verdict::unmet;
    } catch (const std::exception& error) {
        why = fmt::format(model::texts::condition_failed, step.slug, error.what());
        return Verdict::impossible;
    }
}

std::vector<int> find_starved_maps(const FlowPlan& plan, int step, std::string_view output) {
    std::vector<int> starved;
    if (plan.step(step).type == StepType::map || model::is_array(output)) return starved;
    std::string why;
    for (const int dependent : plan.dependents_of(step)) {
        const FlowStep& map = plan.step(dependent);
        if (map.type != StepType::map) continue;
        const std::string input = fmt::format(R"({{"{}":{}}})", plan.slug(step), output);
        if (judge_condition(map, input, why) == Verdict::met) starved.push_back(dependent);
    }
    return starved;
}

void check_root_input(const FlowPlan& plan, std::string_view input) {
    if (model::is_array(input)) return;
    std::string why;
    for (int index = 0; index < static_cast<int>(plan.shape.steps.size()); ++index) {
        const FlowStep& step = plan.step(index);
        if (step.type != StepType::map || !plan.deps_of(index).empty()) continue;
        if (judge_condition(step, std::string(input), why) != Verdict::met) continue;
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(model::texts::input_must_be_array, plan.shape.slug, step.slug)
        );
    }
}

}  // namespace pawl::rowstore
