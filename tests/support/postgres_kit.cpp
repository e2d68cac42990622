#include <algorithm>
#include <fmt/format.h>

#include "generated/postgres_migrations.h"
#include "support/sql_kit.h"

namespace pawl::test {
namespace {

class StepTrigger : public Obstacle {
public:
    StepTrigger(std::unique_ptr<Database> database, const Place& place, RunId run)
        : database_(std::move(database)), steps_(place.table("steps")) {
        const std::string function = place.schema() + ".later";
        database_->run(
            "create or replace function " + function +
            "() returns trigger language plpgsql as $$ begin raise exception 'no room' using "
            "errcode = '53100'; end $$"
        );
        database_->run(fmt::format(
            "create trigger later before insert on {} for each row when (new.run_id = {}) execute "
            "function {}()",
            steps_,
            run.value(),
            function
        ));
    }
    ~StepTrigger() override { database_->run("drop trigger later on " + steps_); }
    StepTrigger(const StepTrigger&) = delete;
    StepTrigger& operator=(const StepTrigger&) = delete;

private:
    std::unique_ptr<Database> database_;
    std::string steps_;
};

class PostgresKit : public SqlKit {
public:
    using SqlKit::SqlKit;

    [[nodiscard]] bool hears_notifications() const override {
        return database()->number(
                   "select count(*) from pg_stat_activity where datname = current_database() and "
                   "state = 'idle' and query like 'listen %'"
               ) > 0;
    }
    [[nodiscard]] std::unique_ptr<Obstacle> obstruct_steps_of(RunId run) const override {
        return std::make_unique<StepTrigger>(database(), place(), run);
    }
    [[nodiscard]] std::string impatient_url() const override { return place().url(); }
    void install_version(int version) const override {
        database()->run("create schema " + place().schema());
        run_migrations(postgres::sql::migrations, version, "'old', 'old', now()");
    }

    [[nodiscard]] std::string own_tenant() const override { return place().schema(); }
    [[nodiscard]] std::string tenant_url(const std::string& tenant) const override {
        return with_parameter(place().server_url(), "schema=" + tenant);
    }
    [[nodiscard]] Contents contents(const std::string& tenant) const override {
        const auto sql = database();
        Contents all;
        for (const Row& name :
             sql->rows("select tablename from pg_tables where schemaname = '" + tenant + "'")) {
            auto rows = sql->rows("select * from " + tenant + "." + name.at(0));
            std::ranges::sort(rows);
            all.emplace(name.at(0), std::move(rows));
        }
        return all;
    }

protected:
    [[nodiscard]] std::string qualified(const std::string& name) const override {
        return place().schema() + "." + name;
    }
    [[nodiscard]] std::string shown(const std::string& name) const override { return name; }
    [[nodiscard]] std::string time(const std::string& microseconds) const override {
        return "timestamptz 'epoch' + (" + microseconds + ") * interval '1 microsecond'";
    }
    [[nodiscard]] std::string check_of(const std::string& name, const std::string& column)
        const override {
        return database()->value(fmt::format(
            "select pg_get_constraintdef(oid) from pg_constraint where conrelid = '{}'::regclass "
            "and conname = '{}_{}_check'",
            table(name),
            name,
            column
        ));
    }
    void lift_check(Database& database, const std::string& name, const std::string& column)
        const override {
        database.run(fmt::format(
            "alter table {} drop constraint if exists {}_{}_check", table(name), name, column
        ));
    }
    void refuse(
        const std::string& name, const std::vector<std::string>& events, const std::string& when
    ) const override {
        const std::string function = place().schema() + ".refuse";
        database()->run(
            "create or replace function " + function +
            "() returns trigger language plpgsql as $$ begin raise exception 'not this one'; end $$"
        );
        database()->run(fmt::format(
            "create trigger refuse before {} on {} for each row when ({}) execute function {}()",
            fmt::join(events, " or "),
            table(name),
            when,
            function
        ));
    }
    [[nodiscard]] std::vector<std::string> change_column() const override {
        database()->run(
            "alter table " + table("worker_transitions") + " alter event type varchar(20)"
        );
        return {
            "column worker_transitions.event is character varying(20) not null, expected text not "
            "null"};
    }
};

}  // namespace

const StoreTraits& postgres_traits() {
    static const StoreTraits traits{
        .name = "postgresql",
        .null_transaction = static_cast<pg_conn*>(nullptr),
        .user_transactions = true,
        .wakeups_name_runs = true};
    return traits;
}

std::unique_ptr<StoreKit> make_postgres_kit(const Place& place) {
    return std::make_unique<PostgresKit>(place);
}

}  // namespace pawl::test
