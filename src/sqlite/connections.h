// The connections of one store: one that writes, a few that read, each used by one thread at a
// time. In memory, or with max_connections = 1, a single connection does everything.
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
    // `replaced` is called when another file has taken the place of the one that was open; the
    // connections to the old one are closed as they are asked for.
    Connections(const SqliteTarget& target, std::function<void()> replaced);

    // A connection in the hands of one thread; goes back at the end of the scope.
    class PooledConnection {
    public:
        PooledConnection(Connections& owner, Database& database, Database::Role role)
            : owner_(owner), database_(database), role_(role) {}
        PooledConnection(const PooledConnection&) = delete;
        PooledConnection& operator=(const PooledConnection&) = delete;
        ~PooledConnection() { owner_.give_back(database_, role_); }
        [[nodiscard]] Session& session() const { return database_.session(); }

    private:
        Connections& owner_;
        Database& database_;
        Database::Role role_;
    };

    // Waits for its turn; both the waiting here and the waiting for other processes count against
    // busy_timeout. Throws Error(busy), Error(not_installed) while there is no file.
    [[nodiscard]] PooledConnection writer();
    [[nodiscard]] PooledConnection reader();
    // As writer(), but creates the file.
    [[nodiscard]] PooledConnection creator();
    // One more, for a thread that needs it for itself.
    [[nodiscard]] std::unique_ptr<Database> open_extra() const;
    [[nodiscard]] bool in_memory() const { return is_memory(target_); }
    [[nodiscard]] bool is_writing() const { return writer_taken_.load(std::memory_order_relaxed); }

private:
    void give_back(Database& database, Database::Role role);
    [[nodiscard]] PooledConnection take_writer(Database::Role role);
    void open_writer(Database::Role role);  // unless it is open
    [[nodiscard]] Database& take_reader(Database::Deadline deadline);

    const SqliteTarget target_;
    const std::function<void()> replaced_;
    const std::string path_;
    const std::size_t max_readers_;

    std::mutex mutex_;
    std::unique_ptr<Database> writer_;  // none while there is no file
    std::condition_variable writer_free_;
    std::condition_variable reader_free_;
    std::atomic<bool> writer_taken_ = false;  // changed under the mutex
    std::vector<std::unique_ptr<Database>> readers_;
    std::vector<Database*> idle_readers_;
    std::size_t opening_ = 0;
};

}  // namespace pawl::sqlite
