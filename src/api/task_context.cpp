#include <fmt/format.h>
#include <pawl/flow.h>

#include "runtime/task_execution.h"

namespace pawl {

RunId TaskContext::run_id() const {
    return execution_.claimed().task.run;
}
const std::string& TaskContext::flow() const {
    return execution_.executing().spec->queue;
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
    return execution_.executing().messages.front().delivery;
}
const Json& TaskContext::input() const {
    return execution_.executing().messages.front().payload;
}
std::stop_token TaskContext::stop_token() const {
    return execution_.executing().stop.get_token();
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

}  // namespace pawl
