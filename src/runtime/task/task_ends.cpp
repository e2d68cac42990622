#include "runtime/task/task_ends.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/check.h"

namespace pawl::runtime {

using model::Thrown;
using seam::Write;
using seam::WriteKind;

namespace {

Write task_write(WriteKind kind, const Executing& executing) {
    Write write = seam::settle_write(kind, executing.messages.front().lease());
    write.task = executing.task->task;
    return write;
}

}  // namespace

Write task_success_write(const Executing& executing, const Json& output) {
    Write write = task_write(WriteKind::complete_task, executing);
    write.output = output.text;
    return write;
}

Write task_failure_write(
    const Executing& executing, const Thrown& why, Duration pause_check_interval
) {
    if (why.kind == Thrown::Kind::pause) {
        Write write = task_write(WriteKind::release, executing);
        write.delay = std::max(why.delay.value_or(pause_check_interval), Duration::zero());
        write.reason = model::storable_text(why.message);
        return write;
    }
    Write write = task_write(WriteKind::fail_task, executing);
    write.permanent = why.kind == Thrown::Kind::permanent;
    write.reason = model::storable_text(
        write.permanent ? fmt::format("{}: {}", why.type, why.message) : why.message
    );
    if (why.delay) write.retry_delay = std::max(*why.delay, Duration::zero());
    return write;
}

Write task_timeout_write(const Executing& executing, std::string_view and_more) {
    Write write = task_write(WriteKind::fail_task, executing);
    write.reason = fmt::format(
        "timeout: it took longer than {} ms{}", executing.task->timeout->count(), and_more
    );
    return write;
}

std::optional<Write> after_rejection(
    const Executing& executing, const Write& rejected, std::string_view error
) {
    if (rejected.kind != WriteKind::complete_task && rejected.kind != WriteKind::delegate_task)
        return std::nullopt;
    const std::string_view what = rejected.kind == WriteKind::complete_task
                                      ? "its output was refused"
                                      : "its run could not be made";
    Write write = task_write(WriteKind::fail_task, executing);
    write.permanent = true;
    write.reason = model::storable_text(fmt::format("{}: {}", what, error));
    return write;
}

Write delegation_write(const Executing& executing, const std::string& workflow) {
    const Message& message = executing.messages.front();
    const TaskRef& task = executing.task->task;
    NewRun run{workflow, message.payload, {}};
    run.options.parent = task.run;
    run.options.priority = message.priority;
    Write write = task_write(WriteKind::delegate_task, executing);
    write.call = std::make_shared<const NewRun>(std::move(run));
    return write;
}

}  // namespace pawl::runtime
