// The table of message counts that `stats` and `queue stats` share.
#pragma once

#include <pawl/stats.h>
#include <string>
#include <vector>

namespace pawl::cli {

[[nodiscard]] std::string queue_table(const std::vector<QueueStats>& queues);

}  // namespace pawl::cli
