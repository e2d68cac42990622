// The HTTP header Retry-After: seconds or a date.
#pragma once

#include <optional>
#include <pawl/export.h>
#include <pawl/types.h>
#include <string_view>

namespace pawl::model {

// The delay from `now` on, 0 to one day. Nullopt if the value is invalid. Exported for pawl::http.
[[nodiscard]] PAWL_EXPORT std::optional<Duration> retry_after(
    std::string_view value, std::chrono::sys_seconds now
);

}  // namespace pawl::model
