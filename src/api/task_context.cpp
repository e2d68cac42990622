#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <pawl/flow.h>

#include "model/run_error.h"
#include "runtime/task/task_execution.h"

namespace pawl::inline v0 {

namespace {

// Describes the input of a step, {"run": ..., "fetch": ...}. Empty for an element of a map.
std::string members_of(const nlohmann::json& input) {
    if (!input.is_object() || !input.contains("run")) return {};
    std::string text = R"({"run": <the run's input>)";
    for (const auto& [name, value] : input.items()) {
        if (name != "run") text += fmt::format(R"(, "{}": <its output>)", name);
    }
    return text + "}";
}

}  // namespace

void detail::refuse_task_input(const TaskContext& context, const Json& input) {
    const std::string why = model::describe(std::current_exception()).message;
    const std::string members = members_of(nlohmann::json::parse(input.text, nullptr, false));
    throw Error(
        ErrorCode::serialization_error,
        fmt::format(
            "the input of step '{}' in run {} of flow '{}' does not decode: {}; {}",
            context.step(),
            context.run_id().value(),
            context.flow(),
            why,
            members.empty()
                ? std::string("it is an element of the array that the step maps over: take that "
                              "element's type, or pawl::Json")
                : fmt::format(
                      "it is {}: take a struct with these members (struct Input {{ Params run; "
                      "}}), or pawl::Json",
                      members
                  )
        )
    );
}

RunId TaskContext::run_id() const {
    return execution_.claimed().task.run;
}
const std::string& TaskContext::flow() const {
    return execution_.task_call().spec().queue;
}
const std::string& TaskContext::step() const {
    return execution_.claimed().task.step;
}
int TaskContext::task_index() const {
    return execution_.claimed().task.task_index;
}
int TaskContext::attempt() const {
    return execution_.claimed().attempts;
}
int TaskContext::delivery() const {
    return execution_.task_call().message.delivery;
}
const Json& TaskContext::input() const {
    return execution_.task_call().message.payload;
}
std::stop_token TaskContext::stop_token() const {
    return execution_.task_call().stop.get_token();
}
bool TaskContext::cancelled() const {
    return execution_.cancelled();
}

void TaskContext::log(LogLevel level, std::string_view message) const {
    const std::string line = fmt::format(
        "run {} of flow '{}', task {} of step '{}': {}",
        run_id().value(),
        flow(),
        task_index(),
        step(),
        message
    );
    execution_.backend().log().write(level, line);
}

}  // namespace pawl::inline v0
