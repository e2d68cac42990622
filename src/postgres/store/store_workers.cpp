#include <algorithm>
#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "postgres/batch/commit_batch.h"
#include "postgres/batch/queue_rows.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

constexpr Duration shortest_heartbeat_timeout = 500ms;

std::vector<std::string> strings(const std::vector<std::string_view>& views) {
    return {views.begin(), views.end()};
}

WorkerStatus to_worker_status(std::string_view name) {
    return model::stored_value(model::worker_statuses, name, "worker status");
}

}  // namespace

WorkerId PostgresStore::register_worker(const seam::NewWorker& worker) {
    Params params;
    params.text(worker.name).text(worker.host).int4(worker.port).int4(worker.pid);
    params.int8(worker.lease.count()).text_array(worker.subscriptions).text_array(worker.handlers);
    return WorkerId(call(sql::register_worker, params, IfAnswerLost::doubt).int8(0, 0));
}

WorkerStatus PostgresStore::transition_worker(WorkerId worker, WorkerEvent event) {
    Params params;
    params.int8(worker.value()).text(to_string(event));
    return to_worker_status(
        worker_call(sql::transition_worker, params, IfAnswerLost::doubt).text(0, 0)
    );
}

// An answer after the end of the lease is useless; another connection may get one in time.
Duration PostgresStore::heartbeat_timeout(std::span<const seam::Write> extensions) const {
    Duration timeout = options().call_timeout;
    for (const seam::Write& extension : extensions)
        timeout = std::min(
            timeout, std::max(extension.as<seam::Extend>().lease / 3, shortest_heartbeat_timeout)
        );
    return timeout;
}

seam::HeartbeatResult PostgresStore::heartbeat(
    WorkerId worker, std::span<const seam::Write> extensions
) {
    seam::HeartbeatResult result;
    result.outcomes.resize(extensions.size());
    const auto connection = checked(heartbeat_pool_, heartbeat_timeout(extensions));
    return translated([&] {
        CommitSideEffects none;
        std::vector<const seam::Write*> writes;
        for (const seam::Write& extension : extensions) writes.push_back(&extension);
        if (!writes.empty())
            commit_batch(*connection, writes, seam::Attempt::first, result.outcomes, none);
        if (worker) beat(*connection, worker, extensions.empty(), result);
        return result;
    });
}

// The extensions of leases count even if the worker's own row cannot be written, for example
// because it is locked.
void PostgresStore::beat(
    Connection& connection, WorkerId worker, bool must_answer, seam::HeartbeatResult& result
) {
    Params params;
    params.int8(worker.value());
    try {
        const Rows rows = connection.run(sql::heartbeat, params, IfAnswerLost::repeat);
        using Row = sql::row::Heartbeat;
        result.known = !rows.empty() && !rows.is_null(0, Row::status);
        if (!result.known) return;
        result.status =
            model::stored_value(model::worker_statuses, rows.text(0, Row::status), "worker status");
        result.beats = rows.int8(0, Row::beats);
    } catch (const std::exception& error) {
        if (must_answer) throw;
        log().warning(fmt::format(
            "leases extended, but the heartbeat of worker {} failed: {}",
            worker.value(),
            error.what()
        ));
    }
}

std::vector<WorkerInfo> PostgresStore::workers(std::optional<WorkerId> only) {
    Params params;
    if (only) {
        params.int8(only->value());
    } else {
        params.null();
    }
    const Rows rows = call(sql::list_workers, params, IfAnswerLost::repeat);
    using Row = store::row::Worker;
    std::vector<WorkerInfo> workers;
    for (int i = 0; i < rows.size(); ++i) {
        WorkerInfo worker;
        worker.id = WorkerId(rows.int8(i, Row::worker_id));
        worker.name = rows.text(i, Row::name);
        worker.host = rows.text(i, Row::host);
        worker.port = rows.int4(i, Row::port);
        worker.pid = rows.int4(i, Row::pid);
        worker.status = to_worker_status(rows.text(i, Row::status));
        worker.lost = rows.boolean(i, Row::lost);
        worker.lease = Duration(rows.int8(i, Row::lease_ms));
        worker.subscriptions = strings(rows.text_array(i, Row::subscriptions));
        worker.handlers = strings(rows.text_array(i, Row::handlers));
        worker.started_at = rows.time(i, Row::started_at);
        worker.heartbeat_at = rows.time(i, Row::heartbeat_at);
        workers.push_back(std::move(worker));
    }
    return workers;
}

std::int64_t PostgresStore::purge_workers(Duration older_than) {
    Params params;
    params.int8(older_than.count());
    return call(sql::purge_workers, params, IfAnswerLost::doubt).int8(0, 0);
}

void PostgresStore::delete_worker(WorkerId worker) {
    Params params;
    params.int8(worker.value());
    call(sql::delete_worker, params, IfAnswerLost::doubt);
}

StoreStats PostgresStore::stats() {
    StoreStats total;
    for (const auto& queue : queue_stats({}, model::rules::archive_list_limit))
        model::add(total, queue);
    Params params;
    params.int4(static_cast<int>(model::rules::count_limit));
    const Rows workers = call(sql::worker_counts, params, IfAnswerLost::repeat);
    using Row = sql::row::WorkerCounts;
    total.workers_live = workers.int8(0, Row::live);
    total.workers_lost = workers.int8(0, Row::lost);
    total.workers_stopped = read_count(workers, 0, Row::stopped, Row::at_least, "stopped");
    total.schema_version = call(sql::schema_version, {}, IfAnswerLost::repeat)
                               .int4(0, sql::row::SchemaVersion::version);
    return total;
}

}  // namespace pawl::postgres
