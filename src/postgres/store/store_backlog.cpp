#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/rules.h"
#include "postgres/batch/queue_rows.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

seam::Backlog PostgresStore::backlog(std::span<const std::string> queues) {
    Params params;
    params.text_array(queues).int4(static_cast<int>(model::rules::count_limit));
    const Rows rows = worker_call(sql::backlog, params, IfAnswerLost::repeat);
    seam::Backlog backlog;
    if (!rows.is_null(0, 10)) backlog.outbox_lag = Duration(rows.int8(0, 10));
    backlog.workers_live = rows.int8(0, 11);
    backlog.workers_lost = rows.int8(0, 12);
    for (int i = 0; i < rows.size(); ++i) {
        if (!rows.is_null(i, 0)) backlog.queues.push_back(read_queue_stats(rows, i));
    }
    return backlog;
}

}  // namespace pawl::postgres
