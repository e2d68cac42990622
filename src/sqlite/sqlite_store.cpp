#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

std::shared_ptr<store::Backend> open_sqlite(const SqliteTarget& target, ConnectOptions options) {
    return std::make_shared<SqliteStore>(target, std::move(options));
}

SqliteStore::SqliteStore(const SqliteTarget& target, ConnectOptions options)
    : Backend(options, base::Log(options.log)), connections_(target) {}

base::WakeHub& SqliteStore::wake_hub() {
    std::call_once(watching_, [this] {
        if (connections_.in_memory()) return;  // nobody else can write there
        watch_ = std::make_unique<FileWatch>(
            connections_.open_extra(), [this] { hub_.notify_all(); }, log()
        );
    });
    return hub_;
}

void SqliteStore::wake(std::span<const QueueId> queues) {
    for (const QueueId queue : queues) hub_.notify(queue);
}

}  // namespace pawl::sqlite
