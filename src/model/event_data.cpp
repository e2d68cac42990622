#include "model/event_data.h"

#include <nlohmann/json.hpp>

namespace pawl::model {

std::string event_data(const StepEvent& event) {
    nlohmann::ordered_json data;
    data["step"] = event.step;
    if (event.task_index) data["task_index"] = *event.task_index;
    data["attempt"] = event.attempt;
    if (event.error) data["error"] = *event.error;
    return data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pawl::model
