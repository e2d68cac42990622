#include "runtime/run/run_ends.h"

#include <fmt/format.h>

#include "model/event_data.h"
#include "model/run_error.h"

namespace pawl::runtime {

using model::EventKind;
using seam::Finish;
using seam::Write;

Write success_write(const RunCall& call, Json output) {
    Write write{call.lease(), Finish{RunStatus::success, std::move(output.text)}};
    write.event = audited(call, EventKind::run_succeeded, [] { return "{}"; });
    return write;
}

Write failure_write(const RunCall& call, const Json& error) {
    Write write{call.lease(), Finish{RunStatus::error, error.text}};
    write.event = audited(call, EventKind::run_failed, [&] { return error.text; });
    return write;
}

Write timeout_write(const RunCall& call) {
    const std::string message = fmt::format(
        "the run took longer than its run_timeout of {} ms", call.workflow->run_timeout->count()
    );
    return failure_write(call, model::to_json({"timeout", message, {}, 0}));
}

std::string step_event_data(const seam::StepWrite& step) {
    return model::event_data({.step = step.id, .attempt = step.attempt});
}

}  // namespace pawl::runtime
