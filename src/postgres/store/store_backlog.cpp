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
    using Row = store::row::Backlog;
    seam::Backlog backlog;
    if (!rows.is_null(0, Row::outbox_lag_ms))
        backlog.outbox_lag = Duration(rows.int8(0, Row::outbox_lag_ms));
    backlog.workers_live = rows.int8(0, Row::live);
    backlog.workers_lost = rows.int8(0, Row::lost);
    for (int i = 0; i < rows.size(); ++i) {
        if (!rows.is_null(i, Row::queue)) backlog.queues.push_back(read_queue_stats<Row>(rows, i));
    }
    return backlog;
}

}  // namespace pawl::postgres
