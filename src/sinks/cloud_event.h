// CloudEvents 1.0: the attributes of an event, in the order in which they are written.
#pragma once

#include <pawl/export.h>
#include <pawl/outbox.h>
#include <string>
#include <utility>
#include <vector>

namespace pawl::sinks {

// Exported for pawl::http.
[[nodiscard]] PAWL_EXPORT std::vector<std::pair<std::string, std::string>> attributes(
    const OutboxEvent& event, const std::string& source
);

}  // namespace pawl::sinks
