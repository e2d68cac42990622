// A few connections, opened when needed, lent one call at a time. Broken ones are replaced.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "postgres/driver/connection.h"

namespace pawl::postgres {

class Pool {
public:
    Pool(const PostgresTarget& target, Duration connect_timeout, int size)
        : target_(target), connect_timeout_(connect_timeout), free_slots_(size) {}

    class PooledConnection {
    public:
        PooledConnection(Pool& pool, std::unique_ptr<Connection> connection)
            : pool_(&pool), connection_(std::move(connection)) {}
        ~PooledConnection() {
            if (pool_ != nullptr) pool_->give_back(std::move(connection_));
        }
        PooledConnection(PooledConnection&& other) noexcept
            : pool_(std::exchange(other.pool_, nullptr)),
              connection_(std::move(other.connection_)) {}
        PooledConnection& operator=(PooledConnection&&) = delete;
        Connection* operator->() const { return connection_.get(); }
        Connection& operator*() const { return *connection_; }

    private:
        Pool* pool_;
        std::unique_ptr<Connection> connection_;
    };

    // Waits for a free one; opens one where none is idle. Its answers may take `call_timeout`.
    [[nodiscard]] PooledConnection lend(std::optional<Duration> call_timeout = {});

private:
    [[nodiscard]] PooledConnection take();
    void give_back(std::unique_ptr<Connection> connection);

    const PostgresTarget target_;
    const Duration connect_timeout_;
    std::mutex mutex_;
    std::condition_variable freed_;
    int free_slots_;
    std::vector<std::unique_ptr<Connection>> idle_;
};

}  // namespace pawl::postgres
