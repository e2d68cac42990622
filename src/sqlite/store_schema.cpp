#include "generated/sqlite_sql.h"
#include "model/counts.h"
#include "sqlite/message_counts.h"
#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

// The write lock is taken only if there is something to do; a second process finds it done.
void SqliteStore::install_compat(Compat /*compat*/) {
    throw Error(
        ErrorCode::invalid_argument,
        "the names of pgflow are SQL functions, which SQLite does not have: use PostgreSQL"
    );
}

InstallReport SqliteStore::install() {
    const auto connection = connections_.creator();
    Session& session = connection.session();
    InstallReport report{installed_version(session), newest_version(), {}, {}};
    if (report.from_version != newest_version() || !schema_differences(session).empty()) {
        WriteTransaction transaction(session);
        apply_migrations(session);
        repair_schema(session, report);
        transaction.commit();
    }
    schema_checked_ = true;
    hub_.notify_all();
    return report;
}

SchemaReport SqliteStore::verify() {
    try {
        const auto connection = connections_.reader();
        const ReadTransaction transaction(connection.session());
        return inspect_schema(connection.session());
    } catch (const Error& error) {
        if (error.code() != ErrorCode::not_installed) throw;
        return {0, {error.what()}};
    }
}

std::int64_t SqliteStore::restored() {
    return write([](Session& session, Timestamp) {
        session.execute(sql::create_sequences);
        session.execute(sql::move_ids_ahead);
        session.execute(sql::fence_tasks);
        session.execute(sql::fence_outbox);
        session.execute(sql::fence_schedules);
        return session.execute(sql::fence_messages);
    });
}

Timestamp SqliteStore::now() {
    return read([](Session& session) { return current_time(session); });
}

void SqliteStore::set_test_clock(std::optional<Timestamp> now) {
    write([&](Session& session, Timestamp) {
        session.execute(sql::clear_clock);
        if (now) session.execute(sql::fix_clock, *now);
    });
    hub_.notify_all();
}

bool SqliteStore::has_test_clock() {
    return read([](Session& session) { return fixed_time(session).has_value(); });
}

StoreStats SqliteStore::stats() {
    return read([](Session& session) {
        StoreStats stats;
        const Timestamp now = current_time(session);
        for (const QueueStats& queue :
             read_queue_stats(session, std::nullopt, now, model::archive_list_limit))
            model::add(stats, queue);
        const WorkerCounts workers = count_workers(session, now);
        stats.workers_live = workers.live;
        stats.workers_lost = workers.lost;
        {
            Rows rows = session.query(sql::count_stopped_workers, model::count_limit + 1);
            if (rows.next()) stats.workers_stopped = model::bounded(rows.integer(0));
        }
        stats.schema_version = installed_version(session);
        return stats;
    });
}

}  // namespace pawl::sqlite
