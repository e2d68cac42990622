// The writes that end runs.
#pragma once

#include "model/event_kinds.h"
#include "runtime/run/run_call.h"

namespace pawl::runtime {

[[nodiscard]] seam::Write success_write(const RunCall& call, Json output);
[[nodiscard]] seam::Write failure_write(const RunCall& call, const Json& error);
[[nodiscard]] seam::Write timeout_write(const RunCall& call);

// The event of a run's write, if the workflow's audit level records this kind; only then `data` is
// called, which returns JSON text.
template <class Data>
[[nodiscard]] base::HeapOptional<seam::AuditEvent> audited(
    const RunCall& call, model::EventKind kind, const Data& data
) {
    if (!model::is_audited(call.workflow->audit, kind)) return {};
    return seam::AuditEvent{std::string(to_string(kind)), data()};
}

// The data of an event about a step: its id and attempt.
[[nodiscard]] std::string step_event_data(const seam::StepWrite& step);

}  // namespace pawl::runtime
