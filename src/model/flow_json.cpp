// The shape of a flow as JSON, as in the SQL functions get_flow_shape and ensure_flow. Times are in
// seconds, as in all flow functions.
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <pawl/error.h>
#include <pawl/flow.h>

#include "model/enum_names.h"

namespace pawl::inline v0 {

namespace {

using Value = nlohmann::ordered_json;

[[noreturn]] void refuse_shape(const std::string& message) {
    throw Error(ErrorCode::invalid_argument, "flow shape: " + message);
}

// Whole seconds are written as an integer.
Value seconds(Duration time) {
    if (time.count() % 1000 == 0) return time.count() / 1000;
    return static_cast<double>(time.count()) / 1000;
}

template <class T>
void put(Value& into, const char* name, const std::optional<T>& value) {
    if (!value) return;
    if constexpr (std::is_same_v<T, Duration>) {
        into[name] = seconds(*value);
    } else if constexpr (std::is_same_v<T, Json>) {
        into[name] = Value::parse(value->text, nullptr, false);
        if (into[name].is_discarded()) refuse_shape(fmt::format("{} is not valid JSON", name));
    } else {
        into[name] = *value;
    }
}

Value to_value(const FlowStep& step) {
    const FlowStepOptions& options = step.options;
    Value value = {{"slug", step.slug}, {"step_type", to_string(step.type)}, {"deps", step.deps}};
    put(value, "max_attempts", options.max_attempts);
    put(value, "base_delay", options.backoff_base);
    put(value, "timeout", options.task_timeout);
    value["start_delay"] = seconds(options.start_delay);
    put(value, "required_input_pattern", options.required_input_pattern);
    put(value, "forbidden_input_pattern", options.forbidden_input_pattern);
    value["when_unmet"] = to_string(options.when_unmet);
    value["when_exhausted"] = to_string(options.when_exhausted);
    return value;
}

const Value* member(const Value& value, const char* name) {
    const auto found = value.find(name);
    return found == value.end() || found->is_null() ? nullptr : &*found;
}

std::optional<int> read_int(const Value& value, const char* name) {
    const Value* found = member(value, name);
    if (found == nullptr) return std::nullopt;
    // Compared as a double first: a number outside of int must not wrap around.
    const bool whole = found->is_number_integer() &&
                       std::abs(found->get<double>()) <= std::numeric_limits<int>::max();
    if (!whole) refuse_shape(fmt::format("'{}' must be a whole number", name));
    return found->get<int>();
}

std::optional<Duration> read_seconds(const Value& value, const char* name) {
    const Value* found = member(value, name);
    if (found == nullptr) return std::nullopt;
    constexpr double most = 1e12;  // far above every option's limit
    const bool fits = found->is_number() && std::abs(found->get<double>()) <= most;
    if (!fits) refuse_shape(fmt::format("'{}' must be a number of seconds", name));
    return Duration(std::llround(found->get<double>() * 1000));
}

std::string read_text(const Value& value, const char* name, std::string_view otherwise) {
    const Value* found = member(value, name);
    if (found == nullptr) return std::string(otherwise);
    if (!found->is_string()) refuse_shape(fmt::format("'{}' must be a string", name));
    return found->get<std::string>();
}

std::optional<Json> read_json(const Value& value, const char* name) {
    const auto found = value.find(name);
    if (found == value.end()) return std::nullopt;
    return Json(found->dump());
}

template <class Table>
auto read_name(
    const Value& value, const char* name, const Table& table, std::string_view otherwise
) {
    const std::string text = read_text(value, name, otherwise);
    const auto found = model::value_of(table, std::string_view(text));
    if (!found) refuse_shape(fmt::format("unknown {} '{}'", name, text));
    return *found;
}

FlowStep to_step(const Value& value) {
    if (!value.is_object()) refuse_shape("each step must be an object");
    FlowStep step;
    step.slug = read_text(value, "slug", "");
    step.type = read_name(value, "step_type", model::step_types, "single");
    if (const Value* deps = member(value, "deps")) {
        if (!deps->is_array())
            refuse_shape(fmt::format("deps of '{}' must be an array", step.slug));
        for (const Value& dep : *deps) {
            if (!dep.is_string())
                refuse_shape(fmt::format("deps of '{}' must be strings", step.slug));
            step.deps.push_back(dep.get<std::string>());
        }
    }
    FlowStepOptions& options = step.options;
    options.max_attempts = read_int(value, "max_attempts");
    options.backoff_base = read_seconds(value, "base_delay");
    options.task_timeout = read_seconds(value, "timeout");
    options.start_delay = read_seconds(value, "start_delay").value_or(Duration::zero());
    options.required_input_pattern = read_json(value, "required_input_pattern");
    options.forbidden_input_pattern = read_json(value, "forbidden_input_pattern");
    options.when_unmet = read_name(value, "when_unmet", model::when_unmet_names, "skip");
    options.when_exhausted =
        read_name(value, "when_exhausted", model::when_exhausted_names, "fail");
    return step;
}

}  // namespace

Json to_json(const FlowShape& shape) {
    Value value = {{"slug", shape.slug}};
    put(value, "max_attempts", shape.options.max_attempts);
    put(value, "base_delay", shape.options.backoff_base);
    put(value, "timeout", shape.options.task_timeout);
    value["steps"] = Value::array();
    for (const FlowStep& step : shape.steps) value["steps"].push_back(to_value(step));
    try {
        return Json(value.dump());
    } catch (const nlohmann::json::exception&) {
        refuse_shape("a name is not valid UTF-8");
    }
}

FlowShape to_flow_shape(const Json& json) {
    const Value value = Value::parse(json.text, nullptr, false);
    if (value.is_discarded()) refuse_shape("not JSON");
    if (!value.is_object()) refuse_shape("must be an object");
    FlowShape shape;
    shape.slug = read_text(value, "slug", "");
    shape.options.max_attempts = read_int(value, "max_attempts");
    shape.options.backoff_base = read_seconds(value, "base_delay");
    shape.options.task_timeout = read_seconds(value, "timeout");
    const Value* steps = member(value, "steps");
    if (steps == nullptr) return shape;
    if (!steps->is_array()) refuse_shape("'steps' must be an array");
    for (const Value& step : *steps) shape.steps.push_back(to_step(step));
    return shape;
}

std::string_view to_string(StepType type) {
    return model::name_of(model::step_types, type);
}
std::string_view to_string(WhenUnmet what) {
    return model::name_of(model::when_unmet_names, what);
}
std::string_view to_string(WhenExhausted what) {
    return model::name_of(model::when_exhausted_names, what);
}
std::string_view to_string(TaskStatus status) {
    return model::name_of(model::task_statuses, status);
}
std::string_view to_string(TaskOutcome outcome) {
    return model::name_of(model::task_outcomes, outcome);
}

}  // namespace pawl::inline v0
