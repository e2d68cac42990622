// A few connections, opened when needed and lent for one call at a time. Broken connections are
// replaced. Connections that only a burst needed are closed: an idle process keeps one.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/literals.h"
#include "postgres/driver/connection.h"

namespace pawl::postgres {

class Pool {
public:
    static constexpr Duration keep_idle = 30s;

    Pool(
        const PostgresTarget& target, Duration connect_timeout, int size, Duration keep = keep_idle
    )
        : target_(target), connect_timeout_(connect_timeout), keep_(keep), free_slots_(size) {}

    class PooledConnection {
    public:
        PooledConnection(Pool& pool, std::unique_ptr<Connection> connection)
            : pool_(&pool), connection_(std::move(connection)) {}
        ~PooledConnection() {
            if (pool_ != nullptr) pool_->return_connection(std::move(connection_));
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

    // Waits for a free connection, or opens one if none is idle. `call_timeout` is the time limit
    // for its answers.
    [[nodiscard]] PooledConnection lend(std::optional<Duration> call_timeout = {});

private:
    using Clock = std::chrono::steady_clock;
    struct Idle {
        std::unique_ptr<Connection> connection;
        Clock::time_point since;
    };

    [[nodiscard]] PooledConnection take();
    void return_connection(std::unique_ptr<Connection> connection);
    [[nodiscard]] std::vector<Idle> take_unused();

    const PostgresTarget target_;
    const Duration connect_timeout_;
    const Duration keep_;
    std::mutex mutex_;
    std::condition_variable freed_;
    int free_slots_;
    std::vector<Idle> idle_;  // used from the back, so unneeded ones are at the front
};

}  // namespace pawl::postgres
