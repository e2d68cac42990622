#include <nlohmann/json.hpp>

#include "generated/sqlite_sql.h"
#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

namespace {

std::vector<store::QueueBacklog> read_backlog(
    Session& session, std::span<const std::string> names, Timestamp now
) {
    const std::string list = nlohmann::json(std::vector(names.begin(), names.end())).dump();
    Rows rows = session.query(sql::backlog, list, now);
    std::vector<store::QueueBacklog> queues;
    while (rows.next()) {
        store::QueueBacklog& queue = queues.emplace_back();
        queue.queue = rows.text(0);
        queue.ready = rows.integer(1);
        queue.waiting = rows.integer(2);
        queue.leased = rows.integer(3);
        queue.dead = rows.integer(4);
        if (!rows.null(5))
            queue.oldest_ready_age = std::chrono::round<Duration>(now - rows.time(5));
    }
    return queues;
}

}  // namespace

store::Backlog SqliteStore::backlog(std::span<const std::string> queues) {
    return read([&](Session& session) {
        const Timestamp now = current_time(session);
        store::Backlog backlog;
        backlog.queues = read_backlog(session, queues, now);
        {
            Rows rows = session.query(sql::oldest_due_outbox, now);
            if (rows.next() && !rows.null(0))
                backlog.outbox_lag = std::chrono::duration_cast<Duration>(now - rows.time(0));
        }
        Rows rows = session.query(sql::worker_stats, now);
        if (rows.next()) {
            backlog.workers_live = rows.integer(0);
            backlog.workers_lost = rows.integer(1);
        }
        return backlog;
    });
}

}  // namespace pawl::sqlite
