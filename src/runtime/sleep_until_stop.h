// Interruptible sleep, for threads that poll for work.
#pragma once

#include <chrono>
#include <pawl/types.h>
#include <stop_token>

namespace pawl::runtime {

constexpr Duration pause_after_error = std::chrono::seconds(1);

// Returns at `until`, or earlier if a stop is requested.
void sleep_until_stop(std::chrono::steady_clock::time_point until, const std::stop_token& stop);

}  // namespace pawl::runtime
