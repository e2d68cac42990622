// CloudEvents 1.0: the attributes of an event, in the order in which they are written.
#pragma once

#include <pawl/outbox.h>
#include <string>
#include <utility>
#include <vector>

namespace pawl::sinks {

[[nodiscard]] std::vector<std::pair<std::string, std::string>> attributes(
    const OutboxEvent& event, const std::string& source
);

}  // namespace pawl::sinks
