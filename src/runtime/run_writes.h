// How runs end, as writes.
#pragma once

#include "runtime/executing.h"

namespace pawl::runtime {

[[nodiscard]] store::Write success_write(const Executing& executing, const Json& output);
[[nodiscard]] store::Write failure_write(const Executing& executing, const Json& error);
[[nodiscard]] store::Write timeout_write(const Executing& executing);

}  // namespace pawl::runtime
