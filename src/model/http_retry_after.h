// The HTTP header Retry-After: seconds, or a date.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <string_view>

namespace pawl::model {

// From `now` on; a date in the past is 0, and nothing is longer than a day. None: not understood.
[[nodiscard]] std::optional<Duration> retry_after(
    std::string_view value, std::chrono::sys_seconds now
);

}  // namespace pawl::model
