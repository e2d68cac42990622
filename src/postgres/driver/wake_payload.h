// Wake-ups as the payload of a NOTIFY. The SQL functions send the same numbers: the id of a queue
// is positive.
#pragma once

#include <optional>
#include <string>

#include "seam/wake_topic.h"

namespace pawl::postgres {

inline constexpr std::int64_t schedules_number = -1;
inline constexpr std::int64_t outbox_number = -2;

// Without a topic the payload is empty, and all are woken.
[[nodiscard]] inline std::string wake_payload(const std::optional<seam::WakeTopic>& topic) {
    if (!topic) return {};
    if (const auto* const queue = std::get_if<QueueId>(&*topic))
        return std::to_string(queue->value());
    const bool schedules = *topic == seam::schedules_changed;
    return std::to_string(schedules ? schedules_number : outbox_number);
}

[[nodiscard]] inline std::optional<seam::WakeTopic> wake_topic(std::int64_t number) {
    if (number == schedules_number) return seam::schedules_changed;
    if (number == outbox_number) return seam::outbox_changed;
    if (number > 0) return QueueId(number);
    return std::nullopt;
}

}  // namespace pawl::postgres
