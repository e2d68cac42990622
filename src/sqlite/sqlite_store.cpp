#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

std::shared_ptr<seam::Backend> open_sqlite(const SqliteTarget& target, ConnectOptions options) {
    return std::make_shared<SqliteStore>(target, std::move(options));
}

SqliteStore::SqliteStore(const SqliteTarget& target, ConnectOptions options)
    : Backend(options, base::Log(options.log)),
      target_(target),
      tenants_of_(tenants_base(target)),
      connections_(target, [this] { forget_file(); }) {}

// What is known of the file that was replaced says nothing about the new one.
void SqliteStore::forget_file() {
    log().warning("'" + target_.path + "' was replaced by another file: opened again");
    schema_checked_ = false;
    flow_plans_stale_ = true;
    hub_.notify_all();
    signals_.notify_all();
}

base::WakeHub& SqliteStore::wake_hub() {
    start_watch();
    return hub_;
}

base::RunSignals& SqliteStore::run_signals() {
    start_watch();
    return signals_;
}

// Whoever ends the run writes to the file, and the watch notices every commit.
std::optional<seam::RunEnd> SqliteStore::announce_waiter(RunId run) {
    start_watch();
    return find_end(run);
}

void SqliteStore::start_watch() {
    std::call_once(watching_, [this] {
        if (connections_.in_memory()) return;  // nobody else can write there
        const auto changed = [this] {
            hub_.notify_all();
            signals_.notify_all();
        };
        const auto is_writing = [this] { return connections_.is_writing(); };
        const auto open = [this] { return connections_.open_extra(); };
        watch_ = std::make_unique<FileWatch>(open, changed, is_writing, log());
    });
}

void SqliteStore::wake(const PendingWakeups& wakeups) {
    for (const QueueId queue : wakeups.queues) hub_.notify(queue);
    for (const RunId run : wakeups.cancelled) signals_.notify_cancelled(run);
    if (!signals_.watched()) return;  // a worker that ends a run knows
    for (const RunId run : wakeups.ended) signals_.notify(run);
}

}  // namespace pawl::sqlite
