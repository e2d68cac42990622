#include "postgres/driver/pool.h"

#include <iterator>

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
            auto connection = std::move(idle_.back().connection);
            idle_.pop_back();
            return {*this, std::move(connection)};
        }
    }
    try {
        return {*this, Connection::open(target_, connect_timeout_)};
    } catch (...) {
        return_connection(nullptr);
        throw;
    }
}

void Pool::return_connection(std::unique_ptr<Connection> connection) {
    std::vector<Idle> closed;  // destroyed outside the lock: closing communicates with the server
    {
        const std::lock_guard lock(mutex_);
        ++free_slots_;
        if (connection && !connection->broken()) {
            idle_.push_back({std::move(connection), Clock::now()});
            closed = take_unused();
        } else if (connection) {
            // A broken connection usually means that the server went away: the idle connections are
            // as old, so they are closed too.
            closed.swap(idle_);
        }
    }
    freed_.notify_one();
}

std::vector<Pool::Idle> Pool::take_unused() {
    const auto limit = Clock::now() - keep_;
    auto last = idle_.begin();
    while (last + 1 < idle_.end() && last->since <= limit) ++last;
    std::vector<Idle> unused(std::make_move_iterator(idle_.begin()), std::make_move_iterator(last));
    idle_.erase(idle_.begin(), last);
    return unused;
}

}  // namespace pawl::postgres
