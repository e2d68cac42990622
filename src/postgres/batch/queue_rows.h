// Reads the counts of a queue.
#pragma once

#include <pawl/stats.h>

#include "postgres/driver/rows.h"

namespace pawl::postgres {

// Reads a count; it is exact unless its name is in the column at_least.
[[nodiscard]] Count read_count(
    const Rows& rows, int row, int column, int at_least_column, std::string_view name
);
// `Row` is QueueStats, or a row that begins with its columns.
template <class Row>
[[nodiscard]] QueueStats read_queue_stats(const Rows& rows, int row) {
    const auto count = [&](int column, std::string_view name) {
        return read_count(rows, row, column, Row::at_least, name);
    };
    QueueStats stats;
    stats.queue = rows.text(row, Row::queue);
    stats.paused = rows.boolean(row, Row::paused);
    stats.ready = count(Row::ready, "ready");
    stats.waiting = count(Row::waiting, "waiting");
    stats.leased = count(Row::leased, "leased");
    stats.archived = count(Row::archived, "archived");
    stats.dead = count(Row::dead, "dead");
    if (!rows.is_null(row, Row::oldest_ready_ms))
        stats.oldest_ready_age = Duration(rows.int8(row, Row::oldest_ready_ms));
    stats.workers = rows.int8(row, Row::workers);
    return stats;
}

}  // namespace pawl::postgres
