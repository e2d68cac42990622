// The subject of a wake-up.
#pragma once

#include <pawl/types.h>
#include <variant>

namespace pawl::seam {

// Services that wait for something other than messages.
enum class ServiceTopic { schedules, outbox };

// Work in a queue, or for a service.
using WakeTopic = std::variant<QueueId, ServiceTopic>;

inline constexpr WakeTopic schedules_changed{ServiceTopic::schedules};
inline constexpr WakeTopic outbox_changed{ServiceTopic::outbox};

}  // namespace pawl::seam
