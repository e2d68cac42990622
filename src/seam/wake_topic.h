// What a wake-up is about.
#pragma once

#include <pawl/types.h>
#include <variant>

namespace pawl::seam {

// The services that wait for something other than messages.
enum class ServiceTopic { schedules, outbox };

// Work in a queue, or something for a service.
using WakeTopic = std::variant<QueueId, ServiceTopic>;

inline constexpr WakeTopic schedules_changed{ServiceTopic::schedules};
inline constexpr WakeTopic outbox_changed{ServiceTopic::outbox};

}  // namespace pawl::seam
