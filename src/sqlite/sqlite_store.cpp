#include "sqlite/sqlite_store.h"

#include "sqlite/schema.h"
#include "sqlite/transaction.h"
#include "sqlite/user_session.h"

namespace pawl::sqlite {

std::shared_ptr<seam::Backend> open_sqlite(
    const SqliteTarget& target, const ConnectOptions& options
) {
    return std::make_shared<SqliteStore>(target, options);
}

SqliteStore::SqliteStore(const SqliteTarget& target, const ConnectOptions& options)
    : RowStore(options, base::Log(options.log)),
      target_(target),
      tenants_of_(tenants_base(target)),
      connections_(target, [this] { forget_file(); }) {}

void SqliteStore::run_read(Work work) {
    const auto connection = connections_.reader();
    const ReadTransaction transaction(connection.session());
    work(connection.session());
}

void SqliteStore::run_write(Work work) {
    const auto connection = connections_.writer();
    WriteTransaction transaction(connection.session());
    work(connection.session());
    transaction.commit();
}

// The user commits later: the watch on the file detects it, so no waiter is woken here.
void SqliteStore::run_in(const Transaction& transaction, std::string_view call, Work work) {
    UserSession session(transaction, call);
    Savepoint savepoint(session);
    work(session);
    savepoint.release();
}

void SqliteStore::require_schema(rowstore::Session& session) {
    sqlite::require_schema(static_cast<Session&>(session));
}

// Only the connection that writes can distinguish commits of others from its own.
std::int64_t SqliteStore::version_of_others() {
    return data_version(connections_.writer().session());
}

// Everything known about the replaced file is discarded.
void SqliteStore::forget_file() {
    log().warning("'" + target_.path + "' was replaced by another file: opened again");
    forget_database();
}

seam::WakeHub& SqliteStore::wake_hub() {
    start_watch();
    return hub();
}

seam::RunWakeups& SqliteStore::run_wakeups() {
    start_watch();
    return signals();
}

// The session that ends the run writes to the file, and the watch detects every commit.
std::optional<seam::RunEnd> SqliteStore::announce_waiter(RunId run) {
    start_watch();
    return find_end(run);
}

void SqliteStore::start_watch() {
    std::call_once(watching_, [this] {
        if (connections_.in_memory()) return;  // no other process can write there
        const auto changed = [this] { wake_all(); };
        const auto is_writing = [this] { return connections_.is_writing(); };
        const auto open = [this] { return connections_.open_extra(); };
        watch_ = std::make_unique<FileWatch>(open, changed, is_writing, log(), outage());
    });
}

}  // namespace pawl::sqlite
