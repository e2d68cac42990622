#include "runtime/task/task_runner.h"

#include <fmt/format.h>

#include "engine/access.h"
#include "model/check.h"
#include "model/check_run.h"
#include "runtime/task/task_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::Thrown;
using seam::Write;

namespace {

// The delay of a task whose step is unknown here; workers of a newer program may know it.
constexpr Duration unknown_step_delay = std::chrono::seconds(5);

Write logged(const TaskCall& call, Write failure) {
    call.log().task_failed(call, failure.as<seam::FailTask>());
    return failure;
}

}  // namespace

std::string TaskCall::subject() const {
    return fmt::format(
        "task {} of step '{}' of run {} of flow '{}'",
        task.task.task_index,
        task.task.step,
        task.task.run.value(),
        spec().queue
    );
}

std::optional<std::vector<Write>> TaskCall::execute() {
    return as_batch(runner_.run(*this));
}

std::optional<Write> TaskRunner::run(TaskCall& call) {
    const auto& handlers = call.spec().flow->entries();
    const std::string& step = call.task.task.step;
    const auto handler = handlers.find(step);
    if (handler == handlers.end()) {
        // The step was added to the flow after this worker was created. Another worker may know it,
        // so the task is released without using an attempt; otherwise this worker would use all of
        // them.
        const std::string what = fmt::format(
            "worker '{}' has no handler for step '{}' of flow '{}'",
            worker_,
            step,
            call.spec().queue
        );
        return failed(call, {Thrown::Kind::pause, "no_handler", what, unknown_step_delay, {}});
    }
    if (!handler->second.workflow.empty()) return delegate(call, handler->second.workflow);
    return invoke(call, handler->second.function);
}

std::optional<Write> TaskRunner::invoke(TaskCall& call, const TaskHandler& function) {
    TaskExecution execution(call, committer_, backend_);
    std::optional<Watchdog::WatchScope> scope;
    if (call.task.timeout) scope.emplace(watchdog_, execution);
    Json output;
    std::exception_ptr thrown;
    try {
        output = detail::Access::with_context(execution, [&](TaskContext& context) {
            return function(context, call.message.payload);
        });
        model::check_output("the task's output", output.text, backend_.options().max_payload_bytes);
    } catch (...) {
        thrown = std::current_exception();
    }
    switch (execution.finish()) {
        case TaskExecution::End::lost:
            return std::nullopt;
        case TaskExecution::End::late:
            return logged(call, task_timeout_write(call));
        case TaskExecution::End::in_time:
            break;
    }
    if (thrown) return failed(call, model::describe(thrown));
    return task_success_write(call, std::move(output));
}

Write TaskRunner::delegate(const TaskCall& call, const std::string& workflow) {
    Write write = delegation_write(call, workflow);
    try {
        model::check_new_run(*seam::called_run(write), backend_.options().max_payload_bytes);
    } catch (...) {
        return failed(call, model::describe(std::current_exception()));
    }
    return write;
}

Write TaskRunner::failed(const TaskCall& call, const Thrown& why) {
    if (why.kind != Thrown::Kind::pause) return logged(call, task_failure_write(call, why));
    Write write =
        task_pause_write(call, why.delay.value_or(backend_.options().pause_check_interval));
    call.log().paused(
        call.subject(), write.as<seam::Release>().delay, model::storable_text(why.message)
    );
    return write;
}

}  // namespace pawl::runtime
