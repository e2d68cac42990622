#include "model/flow.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <pawl/error.h>

#include "model/check.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::model {

namespace {

bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

void check_slug(std::string_view what, std::string_view slug) {
    const bool good = !slug.empty() && slug.size() <= rules::max_name_bytes &&
                      is_letter(slug.front()) &&
                      std::ranges::all_of(slug, [](char c) { return is_letter(c) || is_digit(c); });
    if (!good) refuse(fmt::format(texts::slug, what, slug, rules::max_name_bytes));
    if (slug == "run") refuse(fmt::format(texts::slug_run, what));
}

void check_common(
    const std::string& whose,
    const std::optional<int>& max_attempts,
    const std::optional<Duration>& base_delay,
    const std::optional<Duration>& timeout
) {
    if (max_attempts && (*max_attempts < 0 || *max_attempts > rules::max_attempts))
        refuse(fmt::format(texts::task_attempts, whose, rules::max_attempts));
    if (base_delay) check_delay(whose + ": base_delay", *base_delay);
    if (timeout) check_delay(whose + ": timeout", *timeout);
}

void check_pattern(
    const std::string& whose, std::string_view name, const std::optional<Json>& pattern
) {
    if (!pattern) return;
    try {
        check_json(pattern->text);
    } catch (const Error& error) {
        refuse(fmt::format(texts::not_json, whose, name, error.what()));
    }
}

nlohmann::json value_of_pattern(const std::optional<Json>& pattern) {
    return pattern ? nlohmann::json::parse(pattern->text) : nlohmann::json();
}

// "timeout is 60000, not 5000"
template <class T>
void compare(std::string& differences, std::string_view name, const T& stored, const T& given) {
    if (stored == given) return;
    if (!differences.empty()) differences += "; ";
    differences += fmt::format(texts::value_differs, name, stored, given);
}

std::string option_text(const std::optional<int>& value) {
    return value ? std::to_string(*value) : "the flow's";
}

std::string option_text(const std::optional<Duration>& value) {
    return value ? fmt::format("{} ms", value->count()) : "the flow's";
}

std::string option_text(const std::optional<Json>& pattern) {
    return pattern ? value_of_pattern(pattern).dump() : "none";
}

}  // namespace

void check_flow_slug(std::string_view slug) {
    check_slug("flow", slug);
}

void check_flow_options(std::string_view slug, const FlowOptions& options) {
    check_common(
        fmt::format("flow '{}'", slug),
        options.max_attempts,
        options.backoff_base,
        options.task_timeout
    );
}

void check_flow_step(std::string_view flow, const FlowStep& step) {
    check_slug("step", step.slug);
    const std::string whose = fmt::format("step '{}' of flow '{}'", step.slug, flow);
    const FlowStepOptions& options = step.options;
    check_common(whose, options.max_attempts, options.backoff_base, options.task_timeout);
    check_delay(whose + ": start_delay", options.start_delay);
    check_pattern(whose, "required_input_pattern", options.required_input_pattern);
    check_pattern(whose, "forbidden_input_pattern", options.forbidden_input_pattern);
    if (std::ranges::find(step.deps, step.slug) != step.deps.end())
        refuse(fmt::format(texts::step_depends_on_itself, whose));
    const bool several = std::ranges::any_of(step.deps, [&](const std::string& dep) {
        return dep != step.deps.front();
    });
    if (step.type == StepType::map && several)
        refuse(fmt::format(texts::map_depends_on_several, whose));
}

void check_flow_deps(
    std::string_view flow, const FlowStep& step, std::span<const FlowStep> earlier
) {
    const std::string whose = fmt::format("step '{}' of flow '{}'", step.slug, flow);
    for (const std::string& dep : step.deps) {
        if (std::ranges::find(earlier, dep, &FlowStep::slug) == earlier.end())
            refuse(fmt::format(texts::dependency_missing, whose, dep));
    }
}

std::optional<int> task_starts(const std::optional<int>& max_attempts) {
    return max_attempts == 0 ? 1 : max_attempts;
}

FlowStep normalized(FlowStep step, std::span<const FlowStep> earlier) {
    std::vector<std::string> deps;
    for (const FlowStep& candidate : earlier) {
        if (std::ranges::find(step.deps, candidate.slug) != step.deps.end())
            deps.push_back(candidate.slug);
    }
    step.deps = std::move(deps);
    step.options.max_attempts = task_starts(step.options.max_attempts);
    return step;
}

std::string difference(const FlowStep& stored, const FlowStep& given) {
    std::string differences;
    std::vector<std::string> stored_deps = stored.deps;
    std::vector<std::string> given_deps = given.deps;
    for (auto* deps : {&stored_deps, &given_deps}) {
        std::ranges::sort(*deps);
        deps->erase(std::unique(deps->begin(), deps->end()), deps->end());
    }
    compare(differences, "step_type", to_string(stored.type), to_string(given.type));
    compare(
        differences,
        "deps",
        fmt::format("{{{}}}", fmt::join(stored_deps, ",")),
        fmt::format("{{{}}}", fmt::join(given_deps, ","))
    );
    const FlowStepOptions& a = stored.options;
    const FlowStepOptions& b = given.options;
    compare(
        differences,
        "max_attempts",
        option_text(task_starts(a.max_attempts)),
        option_text(task_starts(b.max_attempts))
    );
    compare(differences, "base_delay", option_text(a.backoff_base), option_text(b.backoff_base));
    compare(differences, "timeout", option_text(a.task_timeout), option_text(b.task_timeout));
    compare(
        differences,
        "start_delay",
        option_text(std::optional(a.start_delay)),
        option_text(std::optional(b.start_delay))
    );
    compare(
        differences,
        "required_input_pattern",
        option_text(a.required_input_pattern),
        option_text(b.required_input_pattern)
    );
    compare(
        differences,
        "forbidden_input_pattern",
        option_text(a.forbidden_input_pattern),
        option_text(b.forbidden_input_pattern)
    );
    compare(differences, "when_unmet", to_string(a.when_unmet), to_string(b.when_unmet));
    compare(
        differences, "when_exhausted", to_string(a.when_exhausted), to_string(b.when_exhausted)
    );
    return differences;
}

std::string difference(const FlowShape& stored, const FlowShape& given) {
    std::string differences;
    const auto differs = [&](std::string_view name, const auto& a, const auto& b) {
        if (b) compare(differences, name, option_text(a), option_text(b));
    };
    differs("max_attempts", stored.options.max_attempts, task_starts(given.options.max_attempts));
    differs("base_delay", stored.options.backoff_base, given.options.backoff_base);
    differs("timeout", stored.options.task_timeout, given.options.task_timeout);
    std::vector<std::string> all;
    if (!differences.empty()) all.push_back(std::move(differences));
    for (std::size_t i = 0; i < std::min(stored.steps.size(), given.steps.size()); ++i) {
        const FlowStep& a = stored.steps[i];
        const FlowStep& b = given.steps[i];
        const std::string what = difference(a, b);
        if (a.slug != b.slug) {
            all.push_back(fmt::format(texts::step_differs, i, a.slug, b.slug));
        } else if (!what.empty()) {
            all.push_back(fmt::format("step '{}': {}", a.slug, what));
        }
    }
    if (stored.steps.size() != given.steps.size()) {
        all.push_back(fmt::format(texts::steps_differ, stored.steps.size(), given.steps.size()));
    }
    return fmt::format("{}", fmt::join(all, "; "));
}

Duration flow_retry_delay(Duration base, int attempts) {
    constexpr Duration longest = rules::longest_flow_delay;
    Duration delay = std::min(base, longest);
    for (int i = 0; i < std::min(attempts, rules::most_flow_doublings) && delay < longest; ++i)
        delay *= 2;
    return std::min(delay, longest);
}

}  // namespace pawl::model
