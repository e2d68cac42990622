// How runs end, as writes.
#pragma once

#include "runtime/run/run_call.h"

namespace pawl::runtime {

[[nodiscard]] seam::Write success_write(const RunCall& call, Json output);
[[nodiscard]] seam::Write failure_write(const RunCall& call, const Json& error);
[[nodiscard]] seam::Write timeout_write(const RunCall& call);

// Of an event about a step: which one, and the number of its execution.
[[nodiscard]] std::string step_event_data(const seam::StepWrite& step);

}  // namespace pawl::runtime
