#include "postgres/store/postgres_store.h"

#include <algorithm>

#include "generated/postgres_sql.h"

namespace pawl::postgres {

namespace {
// Heartbeats and LISTEN each have their own connection; the others are shared.
constexpr int own_connections = 2;
}  // namespace

PostgresStore::PostgresStore(PostgresTarget target, ConnectOptions options, base::Log log)
    : Backend(std::move(options), std::move(log)),
      target_(std::move(target)),
      pool_(
          target_,
          this->options().connect_timeout,
          std::max(1, target_.max_connections - own_connections)
      ),
      heartbeat_pool_(target_, this->options().connect_timeout, 1),
      notifier_(pool_, this->log()) {}

std::shared_ptr<seam::Backend> open_postgres(PostgresTarget target, ConnectOptions options) {
    const base::Log log(options.log);
    auto store = std::make_shared<PostgresStore>(std::move(target), std::move(options), log);
    store->has_test_clock();  // opens the first connection, so that a wrong address fails here
    return store;
}

Rows PostgresStore::call(
    const store::Statement& statement,
    const Params& params,
    IfAnswerLost if_lost,
    std::optional<Duration> timeout
) {
    const auto connection = checked(pool_, timeout);
    return translated([&] { return connection->run(statement, params, if_lost); });
}

Timestamp PostgresStore::now() {
    return call(sql::clock, {}, IfAnswerLost::repeat).time(0, 0);
}

void PostgresStore::notify(const std::optional<seam::WakeTopic>& topic, Wake how) {
    if (topic) {
        hub_.notify(*topic);
    } else {
        hub_.notify_all();
    }
    if (how == Wake::after_commit) notifier_.wake(topic);
}

void PostgresStore::listen() {
    const std::lock_guard lock(listener_mutex_);
    if (listener_ || !capabilities().remote_wakeups) return;
    const Listener::Times times{
        options().connect_timeout, options().heartbeat, options().call_timeout};
    listener_ = std::make_unique<Listener>(target_, times, hub_, signals_, log(), outage());
}

seam::WakeHub& PostgresStore::wake_hub() {
    listen();
    return hub_;
}

seam::RunWakeups& PostgresStore::run_wakeups() {
    listen();
    return signals_;
}

}  // namespace pawl::postgres
