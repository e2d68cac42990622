#include "rowstore/store/row_store.h"

#include "model/counts.h"
#include "model/rules.h"
#include "rowstore/statements.h"
#include "rowstore/store/message_counts.h"

namespace pawl::rowstore {

bool concerns_one_statement(const Error& error) {
    return error.code() == ErrorCode::database_error ||
           error.code() == ErrorCode::invalid_argument ||
           error.code() == ErrorCode::workflow_not_found;
}

Timestamp RowStore::begin_write(Session& session) {
    if (flow_plans_stale_.exchange(false)) flow_plans_ = FlowPlans();
    return current_time(session);
}

void RowStore::forget_database() {
    schema_checked_ = false;
    flow_plans_stale_ = true;
    wake_all();
}

void RowStore::wake_all() {
    hub_.notify_all();
    signals_.notify_all();
}

void RowStore::wake(const PendingWakeups& wakeups) {
    for (const seam::WakeTopic& topic : wakeups.topics) hub_.notify(topic);
    for (const RunId run : wakeups.cancelled) signals_.notify_cancelled(run);
    if (!signals_.watched()) return;  // a worker in this process that ends a run needs no signal
    for (const RunId run : wakeups.ended) signals_.notify(run);
}

std::int64_t RowStore::restored() {
    return write([](Session& session, Timestamp) {
        session.post(sql::create_sequences);
        session.post(sql::move_ids_ahead);
        session.post(sql::fence_tasks);
        session.post(sql::fence_outbox);
        session.post(sql::fence_schedules);
        return session.execute(sql::fence_messages);
    });
}

Timestamp RowStore::now() {
    return read([](Session& session) { return current_time(session); });
}

void RowStore::set_test_clock(std::optional<Timestamp> now) {
    write([&](Session& session, Timestamp) {
        session.post(sql::clear_clock);
        if (now) session.post(sql::fix_clock, *now);
    });
    hub_.notify_all();
}

bool RowStore::has_test_clock() {
    return read([](Session& session) { return fixed_time(session).has_value(); });
}

StoreStats RowStore::stats() {
    return read([](Session& session) {
        StoreStats stats;
        const Timestamp now = current_time(session);
        for (const QueueStats& queue :
             read_queue_stats(session, std::nullopt, now, model::rules::archive_list_limit))
            model::add(stats, queue);
        const WorkerCounts workers = count_workers(session, now);
        stats.workers_live = workers.live;
        stats.workers_lost = workers.lost;
        {
            Rows rows = session.query(sql::count_stopped_workers, model::rules::count_limit + 1);
            if (rows.next()) stats.workers_stopped = model::bounded(rows.integer(0));
        }
        stats.schema_version = installed_version(session);
        return stats;
    });
}

}  // namespace pawl::rowstore
