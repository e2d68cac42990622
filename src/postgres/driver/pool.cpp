#include "postgres/driver/pool.h"

namespace pawl::postgres {

Pool::PooledConnection Pool::lend(std::optional<Duration> call_timeout) {
    PooledConnection connection = take();
    connection->set_call_timeout(call_timeout);
    return connection;
}

Pool::PooledConnection Pool::take() {
    {
        std::unique_lock lock(mutex_);
        freed_.wait(lock, [&] { return free_slots_ > 0; });
        --free_slots_;
        if (!idle_.empty()) {
            auto connection = std::move(idle_.back());
            idle_.pop_back();
            return {*this, std::move(connection)};
        }
    }
    try {
        return {*this, Connection::open(target_, connect_timeout_)};
    } catch (...) {
        give_back(nullptr);
        throw;
    }
}

void Pool::give_back(std::unique_ptr<Connection> connection) {
    {
        const std::lock_guard lock(mutex_);
        ++free_slots_;
        if (connection && !connection->broken()) idle_.push_back(std::move(connection));
        // One broken connection mostly means that the server went away: the idle ones are as old.
        else if (connection)
            idle_.clear();
    }
    freed_.notify_one();
}

}  // namespace pawl::postgres
