// A deadline computed from a user's timeout. It saturates at 100 years instead of overflowing.
#pragma once

#include <algorithm>
#include <chrono>
#include <pawl/types.h>

namespace pawl::base {

template <class Rep, class Period>
[[nodiscard]] std::chrono::steady_clock::time_point deadline_after(
    std::chrono::duration<Rep, Period> time
) {
    using Time = std::chrono::duration<Rep, Period>;
    constexpr std::chrono::hours limit(24 * 366 * 100);
    return std::chrono::steady_clock::now() +
           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
               std::clamp<Time>(time, -std::chrono::duration_cast<Time>(limit), limit)
           );
}

}  // namespace pawl::base
