// The connections of one store: one for writes and a few for reads, each used by one thread at a
// time. In memory, or with max_connections = 1, a single connection is used for everything.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "sqlite/database.h"

namespace pawl::sqlite {

class Connections {
public:
    // `replaced` is called if another file has replaced the one that was open. Connections to the
    // old file are closed when they are requested the next time.
    Connections(const SqliteTarget& target, std::function<void()> replaced);

    // A connection lent to one thread, returned at the end of the scope.
    class PooledConnection {
    public:
        PooledConnection(Connections& owner, Database& database, Database::Role role)
            : owner_(owner), database_(database), role_(role) {}
        PooledConnection(const PooledConnection&) = delete;
        PooledConnection& operator=(const PooledConnection&) = delete;
        ~PooledConnection() { owner_.return_connection(database_, role_); }
        [[nodiscard]] Session& session() const { return database_.session(); }

    private:
        Connections& owner_;
        Database& database_;
        Database::Role role_;
    };

    // Waits for its turn. The wait here and the wait for other processes both count against
    // busy_timeout. Throws Error(busy), and Error(not_installed) if the file does not exist.
    [[nodiscard]] PooledConnection writer();
    [[nodiscard]] PooledConnection reader();
    // Like writer(), but creates the file.
    [[nodiscard]] PooledConnection creator();
    // An additional connection for a thread that needs its own.
    [[nodiscard]] std::unique_ptr<Database> open_extra() const;
    [[nodiscard]] bool in_memory() const { return is_memory(target_); }
    [[nodiscard]] bool is_writing() const { return writer_taken_.load(std::memory_order_relaxed); }

private:
    void return_connection(Database& database, Database::Role role);
    [[nodiscard]] PooledConnection take_writer(Database::Role role);
    void open_writer(Database::Role role);  // no-op if it is open
    [[nodiscard]] Database& take_reader(Database::Deadline deadline);

    const SqliteTarget target_;
    const std::function<void()> replaced_;
    const std::string path_;
    const std::size_t max_readers_;

    std::mutex mutex_;
    std::unique_ptr<Database> writer_;  // none if the file does not exist
    std::condition_variable writer_free_;
    std::condition_variable reader_free_;
    std::atomic<bool> writer_taken_ = false;  // changed under the mutex
    std::vector<std::unique_ptr<Database>> readers_;
    std::vector<Database*> idle_readers_;
    std::size_t opening_ = 0;
};

}  // namespace pawl::sqlite
