#include "runtime/run/run_ends.h"

#include <fmt/format.h>

#include "model/event_data.h"
#include "model/run_error.h"

namespace pawl::runtime {

using seam::Write;
using seam::WriteKind;

namespace {

Write finish(const Executing& executing, RunStatus status) {
    Write write = seam::settle_write(WriteKind::finish, executing.messages.front().lease());
    write.status = status;
    return write;
}

}  // namespace

Write success_write(const Executing& executing, const Json& output) {
    Write write = finish(executing, RunStatus::success);
    write.output = output.text;
    if (executing.workflow->audit == AuditLevel::all) {
        write.event = "run_succeeded";
        write.event_data = "{}";
    }
    return write;
}

Write failure_write(const Executing& executing, const Json& error) {
    Write write = finish(executing, RunStatus::error);
    write.error = error.text;
    if (executing.workflow->audit != AuditLevel::off) {
        write.event = "run_failed";
        write.event_data = error.text;
    }
    return write;
}

Write timeout_write(const Executing& executing) {
    const std::string message = fmt::format(
        "the run took longer than its run_timeout of {} ms",
        executing.workflow->run_timeout->count()
    );
    return failure_write(executing, model::to_json({"timeout", message, {}, 0}));
}

std::string step_event_data(const seam::StepRecord& step) {
    return model::event_data({.step = step.id, .attempt = step.attempt});
}

}  // namespace pawl::runtime
