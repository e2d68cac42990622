#include "support/sql_kit.h"

#include <fmt/format.h>
#include <regex>
#include <stdexcept>

namespace pawl::test {
namespace {

std::string table_of(Rows rows) {
    switch (rows) {
        case Rows::runs:
            return "runs";
        case Rows::steps:
            return "steps";
        case Rows::tasks:
            return "tasks";
        case Rows::run_tags:
            return "run_tags";
        case Rows::signals:
            return "signals";
        case Rows::events:
            return "events";
        case Rows::calls:
            return "calls";
        case Rows::messages:
            return "messages";
        case Rows::archive:
            return "archive";
        case Rows::outbox:
            return "outbox";
        case Rows::schedules:
            return "schedules";
        case Rows::workers:
            return "workers";
        case Rows::flow_steps:
            return "flow_steps";
        case Rows::flow_deps:
            return "flow_deps";
    }
    throw std::logic_error("rows without a table");
}

struct Column {
    std::string table;
    std::string name;
};

Column column_of(Word word) {
    switch (word) {
        case Word::message_state:
            return {"messages", "state"};
        case Word::worker_status:
            return {"workers", "status"};
        case Word::worker_event:
            return {"worker_transitions", "event"};
        case Word::run_status:
            return {"runs", "status"};
        case Word::step_status:
            return {"steps", "status"};
        case Word::audit_level:
            return {"workflows", "audit"};
        case Word::publish_level:
            return {"workflows", "publish"};
        case Word::retention_kind:
            return {"retention", "kind"};
        case Word::outbox_status:
            return {"outbox", "status"};
        case Word::overlap:
            return {"schedules", "overlap"};
        case Word::catch_up:
            return {"schedules", "catch_up"};
    }
    throw std::logic_error("a word without a column");
}

std::string of_run(RunId run) {
    return fmt::format(" where run_id = {}", run.value());
}

class SqlUserConnection : public UserConnection {
public:
    SqlUserConnection(const Place& place, std::string orders)
        : place_(place), database_(place.database()), orders_(std::move(orders)) {}
    Transaction transaction() override { return database_->transaction(); }
    void begin() override { database_->begin(); }
    void commit() override { database_->run("commit"); }
    void rollback() override { database_->run("rollback"); }
    long count(Rows rows, RunId run) override {
        return database_->number(
            "select count(*) from " + place_.table(table_of(rows)) + of_run(run)
        );
    }
    void insert_order() override { database_->run("insert into " + orders_ + " values (7)"); }

private:
    const Place& place_;
    std::unique_ptr<Database> database_;
    std::string orders_;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, Rows rows) {
    return out << table_of(rows);
}

// --- the user's connection and table ---

std::unique_ptr<UserConnection> SqlKit::connect_user() const {
    return std::make_unique<SqlUserConnection>(place(), qualified("orders"));
}

void SqlKit::create_orders() const {
    database()->run("create table " + qualified("orders") + " (id integer)");
}

long SqlKit::count_orders() const {
    return database()->number("select count(*) from " + qualified("orders"));
}

// --- reading ---

long SqlKit::count(Rows rows) const {
    return database()->number("select count(*) from " + table(table_of(rows)));
}

long SqlKit::count(Rows rows, RunId run) const {
    return database()->number("select count(*) from " + table(table_of(rows)) + of_run(run));
}

long SqlKit::count(Word word, const std::string& value) const {
    const Column column = column_of(word);
    return database()->number(fmt::format(
        "select count(*) from {} where {} = '{}'", table(column.table), column.name, value
    ));
}

std::set<std::string> SqlKit::allowed(Word word) const {
    const Column column = column_of(word);
    std::set<std::string> words;
    if (word == Word::worker_event) {  // the table of transitions is the list
        for (const Row& row : database()->rows("select event from " + table(column.table)))
            words.insert(row.front());
        return words;
    }
    const std::string check = check_of(column.table, column.name);
    const std::regex quoted("'([A-Za-z_-]+)'");
    for (std::sregex_iterator at(check.begin(), check.end(), quoted), end; at != end; ++at)
        words.insert((*at)[1]);
    return words;
}

// --- writing ---

void SqlKit::lose_message(MessageId id) const {
    database()->run(
        fmt::format("delete from {} where message_id = {}", table("messages"), id.value())
    );
}

void SqlKit::lose_run(RunId run) const {
    database()->run("delete from " + table("runs") + of_run(run));
}

void SqlKit::write(Word word, const std::string& value, RunId run) const {
    const Column column = column_of(word);
    const auto sql = database();
    lift_check(*sql, column.table, column.name);
    sql->run(
        fmt::format("update {} set {} = '{}'", table(column.table), column.name, value) +
        (run == RunId() ? "" : of_run(run))
    );
}

void SqlKit::write_key(RunId run, const std::string& key) const {
    database()->run(
        "update " + table("runs") + " set idempotency_key = '" + key + "'" + of_run(run)
    );
}

void SqlKit::write_time_zone(const std::string& schedule, const std::string& zone) const {
    database()->run(fmt::format(
        "update {} set time_zone = '{}' where name = '{}'", table("schedules"), zone, schedule
    ));
}

void SqlKit::add_ended_runs(const EndedRuns& runs) const {
    const auto created_at = runs.created_at.time_since_epoch().count();
    const bool in_turns = runs.ends == EndedRuns::Ends::error_and_success;
    const auto sql = database();
    sql->run(fmt::format(
        "insert into {runs} (run_id, workflow_id, status, priority, created_at, updated_at, "
        "started_at, completed_at, input, error, parent_run_id) with recursive n(i) as (select 1 "
        "union all select i + 1 from n where i < {count}) select {first} - 1 + i, w.workflow_id, "
        "case when {failed} then 'ERROR' else 'SUCCESS' end, 0, {created}, {completed}, "
        "{created}, {completed}, '1', case when {failed} then '{{}}' end, {parent} from n, "
        "{workflows} w join {queues} q on q.queue_id = w.workflow_id where q.name = '{workflow}'",
        fmt::arg("runs", table("runs")),
        fmt::arg("count", runs.count),
        fmt::arg("first", runs.first_id.value()),
        fmt::arg("failed", in_turns ? "i % 2 = 1" : "1 = 0"),
        fmt::arg("created", time(std::to_string(created_at))),
        fmt::arg(
            "completed",
            time(fmt::format("{} + cast(i as bigint) * {}", created_at, runs.apart.count()))
        ),
        fmt::arg("parent", runs.parent == RunId() ? "null" : std::to_string(runs.parent.value())),
        fmt::arg("workflows", table("workflows")),
        fmt::arg("queues", table("queues")),
        fmt::arg("workflow", runs.workflow)
    ));
    for (int step = 0; step < runs.steps; ++step)
        sql->run(fmt::format(
            "insert into {} (run_id, step_id, position, status, attempt, delivery) select run_id, "
            "'step{}', {}, 'SUCCESS', 1, 1 from {} where run_id >= {} and run_id < {}",
            table("steps"),
            step,
            step,
            table("runs"),
            runs.first_id.value(),
            runs.first_id.value() + runs.count
        ));
}

void SqlKit::add_events(RunId run, int count) const {
    const auto sql = database();
    for (int i = 0; i < count; ++i)
        sql->run(fmt::format(
            "insert into {} (run_id, kind, data, delivery, at) values ({}, 'note', '{{}}', 1, {})",
            table("events"),
            run.value(),
            time("1")
        ));
}

// --- refusing ---

void SqlKit::refuse_writes_of(MessageId id) const {
    refuse("messages", {"update", "delete"}, fmt::format("old.message_id = {}", id.value()));
}

void SqlKit::refuse_steps_of(RunId run) const {
    refuse("steps", {"insert", "update"}, fmt::format("new.run_id = {}", run.value()));
}

// --- the schema ---

std::vector<std::string> SqlKit::damage(Damage damage) const {
    const auto sql = database();
    switch (damage) {
        case Damage::missing_index:
            sql->run("drop index " + qualified(shown("messages_ready")));
            return {"index " + shown("messages_ready") + " is missing"};
        case Damage::missing_table:
            sql->run("drop table " + table("worker_transitions"));
            return {"table " + shown("worker_transitions") + " is missing"};
        case Damage::lost_data:
            sql->run("alter table " + table("retention") + " drop column inherited");
            sql->run("drop table " + table("signals"));
            return {
                "column " + shown("retention") + ".inherited is missing",
                "table " + shown("signals") + " is missing"};
        case Damage::added_column:
            sql->run("alter table " + table("messages") + " add column extra integer");
            return {"column " + shown("messages") + ".extra is not part of pawl's schema"};
        case Damage::changed_column:
            return change_column();
        case Damage::changed_index:
            sql->run("drop index " + qualified(shown("archive_dead")));
            sql->run(
                "create index " + shown("archive_dead") + " on " + table("archive") + " (queue_id)"
            );
            return {"index " + shown("archive_dead") + " is "};
        case Damage::duplicate_keys:
            sql->run("drop index " + qualified(shown("runs_key")));
            sql->run("update " + table("runs") + " set idempotency_key = 'a'");
            return {"index " + shown("runs_key") + " is missing"};
    }
    throw std::logic_error("unknown damage");
}

void SqlKit::raise_version() const {
    database()->run("update " + table("schema_version") + " set version = version + 1000");
}

void SqlKit::run_migrations(
    std::span<const store::Migration> migrations, int version, const std::string& stamp
) const {
    const auto sql = database();
    for (const store::Migration& migration : migrations) {
        if (migration.version > version) return;
        const std::regex schema(R"(\{schema\})");
        sql->run(std::regex_replace(std::string(migration.text), schema, place().schema()));
        sql->run(fmt::format(
            "insert into {} select {}, {}", table("schema_version"), migration.version, stamp
        ));
    }
}

}  // namespace pawl::test
