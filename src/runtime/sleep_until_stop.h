// What the threads share that look for work: how they wait when there is a reason not to look.
#pragma once

#include <chrono>
#include <pawl/types.h>
#include <stop_token>

namespace pawl::runtime {

constexpr Duration look_after_error = std::chrono::seconds(1);

// Returns at the time, or before where a stop is asked for.
void sleep_until_stop(std::chrono::steady_clock::time_point until, const std::stop_token& stop);

}  // namespace pawl::runtime
