// How runs end, as writes.
#pragma once

#include "model/event_kinds.h"
#include "runtime/executing.h"

namespace pawl::runtime {

[[nodiscard]] seam::Write success_write(const Executing& executing, const Json& output);
[[nodiscard]] seam::Write failure_write(const Executing& executing, const Json& error);
[[nodiscard]] seam::Write timeout_write(const Executing& executing);

// Adds an event to the write of a run if its workflow's audit level records this kind; only then
// is `data`, a function that returns JSON text, called.
template <class Data>
void audit(
    seam::Write& write, const Executing& executing, model::EventKind kind, const Data& data
) {
    if (!model::is_audited(executing.workflow->audit, kind)) return;
    write.event = to_string(kind);
    write.event_data = data();
}

// Of an event about a step: which one, and the number of its execution.
[[nodiscard]] std::string step_event_data(const seam::StepRecord& step);

}  // namespace pawl::runtime
