#include "twin/world.h"

#include <algorithm>

#ifdef PAWL_WITH_SQLITE
#include "engine/access.h"
#include "support/deferring_store.h"
#endif

namespace pawl::test::twin {

namespace {

constexpr Timestamp first_moment{std::chrono::sys_days(std::chrono::year(2030) / 1 / 2)};

ConnectOptions quiet_options() {
    ConnectOptions options;
    options.accept_test_clock = true;
    options.log = nullptr;
    return options;
}

// Without fsync: nothing here crashes.
Store open_fast(const Place& place) {
#ifdef PAWL_WITH_SQLITE
    if (place.kind() == BackendKind::deferring)
        return detail::Access::store(open_deferring(
            {.path = place.directory().file("store.db"),
             .synchronous = sqlite::SqliteTarget::Synchronous::normal},
            quiet_options()
        ));
#endif
    const bool lite = place.kind() == BackendKind::sqlite;
    return connect(
        lite ? with_parameter(place.url(), "synchronous=normal") : place.url(), quiet_options()
    );
}

}  // namespace

World::World(BackendKind kind) : place_(kind), database_(place_.database()) {
    const Store store = open_fast(place_);
    store.install();
    for (const std::string& table : tables()) {
        const bool empty = database_->number("select count(*) from " + table) == 0;
        (empty ? empty_at_first_ : filled_at_first_).push_back(table);
        if (!empty) database_->run("create table " + table + "_first as select * from " + table);
    }
    // Rows are deleted without the foreign keys between tables.
    if (kind == BackendKind::postgres) database_->run("set session_replication_role = replica");
}

std::vector<std::string> World::tables() const {
    const std::string sql =
        place_.kind() != BackendKind::postgres
            ? "select name from sqlite_master where type = 'table' and name like 'pawl#_%' escape "
              "'#' order by name"
            : "select schemaname || '.' || tablename from pg_tables where schemaname = '" +
                  place_.schema() + "' order by tablename";
    std::vector<std::string> names;
    for (const Row& row : database_->rows(sql)) names.push_back(row.front());
    return names;
}

void World::reset() {
    store_.reset();
    const std::string overriding =
        kind() == BackendKind::postgres ? " overriding system value" : "";
    database_->begin();
    for (const std::string& table : empty_at_first_) database_->run("delete from " + table);
    for (const std::string& table : filled_at_first_) {
        database_->run("delete from " + table);
        database_->run("insert into " + table + overriding + " select * from " + table + "_first");
    }
    database_->run("commit");
    static_cast<Hands&>(*this) = Hands();
    ids_ = Ids();
    store_ = open_fast(place_);
    now_ = first_moment;
    testing::set_clock(*store_, now_);
}

QueueId World::queue_id(const std::string& name) const {
    return backend().resolve_queues({&name, 1}).front();
}

int World::claimable(const std::vector<std::string>& queues, int count) const {
    const auto now =
        std::chrono::duration_cast<std::chrono::microseconds>(now_.time_since_epoch()).count();
    const bool lite = kind() != BackendKind::postgres;
    for (const std::string& name : queues) {
        const long same = database_->number(fmt::format(
            "select count(*) - count(distinct visible_at) from {} where queue_id = {} and state <> "
            "'ready' and visible_at <= {}",
            lite ? "pawl_messages" : place_.schema() + ".messages",
            queue_id(name).value(),
            lite ? std::to_string(now)
                 : fmt::format("timestamptz 'epoch' + {} * interval '1 microsecond'", now)
        ));
        if (same > 0 && count > 0) return 100;
    }
    return count;
}

void World::advance(Duration by) {
    now_ += by;
    testing::set_clock(*store_, now_);
}

void Hands::know(RunId run) {
    if (std::ranges::find(known_runs, run) == known_runs.end()) known_runs.push_back(run);
}

void Hands::know(MessageId message) {
    if (std::ranges::find(known_messages, message) == known_messages.end())
        known_messages.push_back(message);
}

}  // namespace pawl::test::twin
