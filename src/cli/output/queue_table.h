// The table of message counts that `stats` and `queue stats` share.
#pragma once

#include <pawl/stats.h>
#include <string>
#include <vector>

#include "cli/output/view.h"

namespace pawl::cli {

[[nodiscard]] std::string queue_table(const View& view, const std::vector<QueueStats>& queues);

}  // namespace pawl::cli
