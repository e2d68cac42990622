#include "model/counts.h"
#include "model/rules.h"
#include "rowstore/statements.h"
#include "rowstore/store/message_counts.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

seam::Backlog RowStore::backlog(std::span<const std::string> queues) {
    return read([&](Session& session) {
        const Timestamp now = current_time(session);
        seam::Backlog backlog;
        backlog.queues = read_queue_stats(session, queues, now, model::rules::count_limit);
        {
            Rows rows = session.query(sql::oldest_due_outbox, now);
            if (rows.next() && !rows.null(0))
                backlog.outbox_lag = std::chrono::duration_cast<Duration>(now - rows.time(0));
        }
        const WorkerCounts workers = count_workers(session, now);
        backlog.workers_live = workers.live;
        backlog.workers_lost = workers.lost;
        return backlog;
    });
}

}  // namespace pawl::rowstore
