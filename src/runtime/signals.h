// SIGINT and SIGTERM as something that can be waited for, by any number of workers of a process.
#pragma once

#include <cstdint>
#include <pawl/types.h>

namespace pawl::runtime {

// From now on they are caught. Returns how many came so far: what the next two are given, so that
// each worker waits for the signals that come after its own call.
[[nodiscard]] std::uint32_t catch_termination_signals();
// True when such a signal came since.
[[nodiscard]] bool termination_requested(std::uint32_t since);
// Returns when a signal comes, or after the time.
void wait_for_termination(std::uint32_t since, Duration time);

}  // namespace pawl::runtime
