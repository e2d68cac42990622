// How runs end, as writes.
#pragma once

#include "runtime/executing.h"

namespace pawl::runtime {

[[nodiscard]] seam::Write success_write(const Executing& executing, const Json& output);
[[nodiscard]] seam::Write failure_write(const Executing& executing, const Json& error);
[[nodiscard]] seam::Write timeout_write(const Executing& executing);

// Of an event about a step: which one, and the number of its execution.
[[nodiscard]] std::string step_event_data(const seam::StepRecord& step);

}  // namespace pawl::runtime
