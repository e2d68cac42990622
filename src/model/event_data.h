// The data of an event about a step or a task, as JSON text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pawl::model {

struct StepEvent {
    std::string_view step;
    std::optional<int> task_index = {};  // for a flow's task
    int attempt = 0;
    std::optional<std::string_view> error = {};
};

// {"step", "task_index", "attempt", "error"}, without the members that are not set.
[[nodiscard]] std::string event_data(const StepEvent& event);

}  // namespace pawl::model
