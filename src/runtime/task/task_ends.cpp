#include "runtime/task/task_ends.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/check.h"

namespace pawl::runtime {

using model::Thrown;
using seam::FailTask;
using seam::Write;

Write task_success_write(const TaskCall& call, Json output) {
    return {call.lease(), seam::CompleteTask{call.task.task, std::move(output.text)}};
}

Write task_failure_write(const TaskCall& call, const Thrown& why) {
    FailTask failure{call.task.task, {}};
    failure.permanent = why.kind == Thrown::Kind::permanent;
    failure.error = model::storable_text(
        failure.permanent ? fmt::format("{}: {}", why.type, why.message) : why.message
    );
    if (why.delay) failure.retry_delay = std::max(*why.delay, Duration::zero());
    return {call.lease(), std::move(failure)};
}

Write task_pause_write(const TaskCall& call, Duration check_after) {
    return {call.lease(), seam::Release{std::max(check_after, Duration::zero()), call.task.task}};
}

Write task_timeout_write(const TaskCall& call, std::string_view and_more) {
    return {
        call.lease(),
        FailTask{
            call.task.task,
            fmt::format(
                "timeout: it took longer than {} ms{}", call.task.timeout->count(), and_more
            )}};
}

Write delegation_write(const TaskCall& call, const std::string& workflow) {
    NewRun run{workflow, call.message.payload, {}};
    run.options.parent = call.task.task.run;
    run.options.priority = call.message.priority;
    return {call.lease(), seam::DelegateTask{call.task.task, std::move(run)}};
}

// A retry would be rejected again, so the failure is permanent.
std::optional<Write> TaskCall::after_rejection(const Write& rejected, std::string_view error)
    const {
    if (!rejected.is<seam::CompleteTask, seam::DelegateTask>()) return std::nullopt;
    const std::string_view what = rejected.is<seam::CompleteTask>()
                                      ? "its output was rejected"
                                      : "its run could not be created";
    FailTask failure{task.task, model::storable_text(fmt::format("{}: {}", what, error)), true};
    return Write{lease(), std::move(failure)};
}

}  // namespace pawl::runtime
