#include "runtime/task/task_runner.h"

#include <fmt/format.h>

#include "model/check_run.h"
#include "runtime/task/task_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using model::Thrown;
using seam::Write;

namespace {

// How long a task is left to workers that may know its step: those of a newer program.
constexpr Duration unknown_step_delay = std::chrono::seconds(5);

}  // namespace

std::optional<Write> TaskRunner::run(Executing& executing) {
    const auto& handlers = executing.spec->flow->entries();
    const std::string& step = executing.task->task.step;
    const auto handler = handlers.find(step);
    if (handler == handlers.end()) {
        // Added to the flow since this worker was created. Another one may know it: the task is
        // given back without an attempt, for this worker would use them all up.
        const std::string what = fmt::format(
            "worker '{}' has no handler for step '{}' of flow '{}'",
            worker_,
            step,
            executing.spec->queue
        );
        return failed(executing, {Thrown::Kind::pause, "no_handler", what, unknown_step_delay, {}});
    }
    if (!handler->second.workflow.empty()) return delegate(executing, handler->second.workflow);
    return call(executing, handler->second.function);
}

std::optional<Write> TaskRunner::call(Executing& executing, const TaskHandler& function) {
    TaskExecution execution(executing, committer_, backend_);
    std::optional<Watchdog::Attention> attention;
    if (executing.task->timeout) attention.emplace(watchdog_, execution);
    Json output;
    std::exception_ptr thrown;
    try {
        TaskContext context(execution);
        output = function(context, executing.messages.front().payload);
        model::check_output("the task's output", output.text, backend_.options().max_payload_bytes);
    } catch (...) {
        thrown = std::current_exception();
    }
    switch (execution.finish()) {
        case TaskExecution::End::lost:
            return std::nullopt;
        case TaskExecution::End::late:
            return logged(executing, task_timeout_write(executing));
        case TaskExecution::End::in_time:
            break;
    }
    if (thrown) return failed(executing, model::describe(thrown));
    return task_success_write(executing, output);
}

Write TaskRunner::delegate(const Executing& executing, const std::string& workflow) {
    Write write = delegation_write(executing, workflow);
    try {
        model::check_new_run(*write.call, backend_.options().max_payload_bytes);
    } catch (...) {
        return failed(executing, model::describe(std::current_exception()));
    }
    return write;
}

Write TaskRunner::failed(const Executing& executing, const Thrown& why) {
    const Duration pause = backend_.options().pause_check_interval;
    return logged(executing, task_failure_write(executing, why, pause));
}

Write TaskRunner::logged(const Executing& executing, Write write) {
    if (write.kind == seam::WriteKind::release) {
        executing.log->paused(subject_of(executing), write.delay, write.reason);
        return write;
    }
    executing.log->task_failed(executing, write);
    return write;
}

}  // namespace pawl::runtime
