// SIGINT and SIGTERM as something that can be waited for. One user per process.
#pragma once

#include <pawl/types.h>

namespace pawl::runtime {

void catch_termination_signals();
// True when such a signal came since catch_termination_signals().
[[nodiscard]] bool termination_requested();
// Returns when a signal comes, or after the time.
void wait_for_termination(Duration time);

}  // namespace pawl::runtime
