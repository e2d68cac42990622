// Rows of queue_stats().
#pragma once

#include <pawl/stats.h>

#include "postgres/driver/rows.h"

namespace pawl::postgres {

// A count, unless its name is among those that are lower bounds.
[[nodiscard]] Count read_count(
    const Rows& rows, int row, int column, int at_least_column, std::string_view name
);
// Columns 0 to 9.
[[nodiscard]] QueueStats read_queue_stats(const Rows& rows, int row);

}  // namespace pawl::postgres
