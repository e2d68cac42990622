// How runs end, as writes.
#pragma once

#include "runtime/executing.h"

namespace pawl::runtime {

[[nodiscard]] store::Write success_write(const Executing& executing, const Json& output);
[[nodiscard]] store::Write failure_write(const Executing& executing, const Json& error);
[[nodiscard]] store::Write timeout_write(const Executing& executing);

// Of an event about a step: which one, and the number of its execution.
[[nodiscard]] std::string step_event_data(const store::StepRecord& step);

}  // namespace pawl::runtime
