#include "postgres/batch/queue_rows.h"

#include <algorithm>

namespace pawl::postgres {

Count read_count(
    const Rows& rows, int row, int column, int at_least_column, std::string_view name
) {
    const auto at_least = rows.text_array(row, at_least_column);
    return {rows.int8(row, column), std::ranges::find(at_least, name) == at_least.end()};
}

QueueStats read_queue_stats(const Rows& rows, int row) {
    const auto count = [&](int column, std::string_view name) {
        return read_count(rows, row, column, 9, name);
    };
    QueueStats stats;
    stats.queue = rows.text(row, 0);
    stats.paused = rows.boolean(row, 1);
    stats.ready = count(2, "ready");
    stats.waiting = count(3, "waiting");
    stats.leased = count(4, "leased");
    stats.archived = count(5, "archived");
    stats.dead = count(6, "dead");
    if (!rows.is_null(row, 7)) stats.oldest_ready_age = Duration(rows.int8(row, 7));
    stats.workers = rows.int8(row, 8);
    return stats;
}

}  // namespace pawl::postgres
