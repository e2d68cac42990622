#include "generated/postgres_sql.h"
#include "model/counts.h"
#include "model/enum_names.h"
#include "model/rules.h"
#include "postgres/batch/queue_rows.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

std::vector<QueueInfo> read_queues(const Rows& rows) {
    using Row = store::row::Queue;
    std::vector<QueueInfo> queues;
    for (int i = 0; i < rows.size(); ++i) {
        QueueInfo queue;
        queue.id = QueueId(rows.int8(i, Row::queue_id));
        queue.name = rows.text(i, Row::queue);
        queue.paused = rows.boolean(i, Row::paused);
        queue.keep_archive = rows.boolean(i, Row::keep_archive);
        if (!rows.is_null(i, Row::lease_ms)) queue.lease = Duration(rows.int8(i, Row::lease_ms));
        queue.max_strikes = rows.int4(i, Row::max_strikes);
        queue.max_attempts = rows.int4(i, Row::max_attempts);
        queue.dead_letter_queue = rows.text(i, Row::dead_letter_queue);
        queue.created_at = rows.time(i, Row::created_at);
        queue.kind = model::stored_value(model::queue_kinds, rows.text(i, Row::kind), "queue kind");
        queues.push_back(std::move(queue));
    }
    return queues;
}

}  // namespace

void PostgresStore::create_queue(const std::string& name, const QueueOptions& options) {
    Params params;
    params.text(name).optional(options.keep_archive, &Params::boolean).milliseconds(options.lease);
    params.optional(options.max_strikes, &Params::int4)
        .optional(options.max_attempts, &Params::int4);
    if (options.dead_letter_queue) {
        params.text(*options.dead_letter_queue);
    } else {
        params.null();
    }
    call(
        sql::create_queue, params, IfAnswerLost::repeat
    );  // idempotent, so a lost answer is not in doubt
}

void PostgresStore::delete_queue(const std::string& name, DeleteMode mode) {
    Params params;
    params.text(name).boolean(mode == DeleteMode::force);
    call(sql::delete_queue, params, IfAnswerLost::doubt);
}

void PostgresStore::set_queue_paused(const std::string& name, bool paused) {
    Params params;
    params.text(name).boolean(paused);
    call(sql::pause_queue, params, IfAnswerLost::repeat);
    if (!paused) notify(std::nullopt);
}

std::int64_t PostgresStore::purge_queue(const std::string& name) {
    return call(sql::purge_queue, one_text(name), IfAnswerLost::doubt).int8(0, 0);
}

std::vector<QueueInfo> PostgresStore::queues() {
    Params all;
    all.null();
    return read_queues(call(sql::list_queues, all, IfAnswerLost::repeat));
}

std::optional<QueueInfo> PostgresStore::find_queue(const std::string& name) {
    auto found = read_queues(call(sql::list_queues, one_text(name), IfAnswerLost::repeat));
    if (found.empty()) return std::nullopt;
    return std::move(found.front());
}

std::vector<QueueId> PostgresStore::resolve_queues(std::span<const std::string> names) {
    Params params;
    params.text_array(names);
    const Rows rows = worker_call(sql::resolve_queues, params, IfAnswerLost::repeat);
    std::vector<QueueId> ids;
    ids.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i)
        ids.emplace_back(rows.int8(i, sql::row::ResolveQueues::queue_id));
    return ids;
}

std::vector<QueueStats> PostgresStore::queue_stats(
    const std::optional<std::string>& only, std::int64_t archived
) {
    Params params;
    if (only) {
        params.text_array(std::span(&*only, 1));
    } else {
        params.null();
    }
    params.int4(static_cast<int>(model::rules::count_limit)).int4(static_cast<int>(archived));
    const Rows rows = call(sql::queue_stats, params, IfAnswerLost::repeat);
    std::vector<QueueStats> all;
    all.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i)
        all.push_back(read_queue_stats<store::row::QueueStats>(rows, i));
    return all;
}

}  // namespace pawl::postgres
