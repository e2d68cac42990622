#include "generated/postgres_sql.h"
#include "postgres/postgres_store.h"

namespace pawl::postgres {

// The counts of the whole store stand in each row; where no queue exists, in the only one.
store::Backlog PostgresStore::backlog(std::span<const std::string> queues) {
    Params params;
    params.text_array(queues);
    const Rows rows = worker_call(sql::backlog, params, Access::read);
    store::Backlog backlog;
    if (!rows.is_null(0, 6)) backlog.outbox_lag = Duration(rows.int8(0, 6));
    backlog.workers_live = rows.int8(0, 7);
    backlog.workers_lost = rows.int8(0, 8);
    for (int i = 0; i < rows.size(); ++i) {
        if (rows.is_null(i, 0)) continue;
        store::QueueBacklog& queue = backlog.queues.emplace_back();
        queue.queue = rows.text(i, 0);
        queue.ready = rows.int8(i, 1);
        queue.waiting = rows.int8(i, 2);
        queue.leased = rows.int8(i, 3);
        queue.dead = rows.int8(i, 4);
        if (!rows.is_null(i, 5)) queue.oldest_ready_age = Duration(rows.int8(i, 5));
    }
    return backlog;
}

}  // namespace pawl::postgres
