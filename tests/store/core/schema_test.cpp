#include <future>

#ifdef PAWL_WITH_POSTGRES
#include "generated/postgres_migrations.h"
#endif
#ifdef PAWL_WITH_SQLITE
#include "generated/sqlite_migrations.h"
#endif
#include "support/process.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class SchemaTest : public StoreTest {
protected:
    void SetUp() override { StoreTest::SetUp(); }
    std::string problems() const {
        std::string all;
        for (const std::string& problem : store().verify().problems) all += problem + "\n";
        return all;
    }
};
PAWL_FOR_EACH_BACKEND(SchemaTest);

// The tables of an earlier version, as its install() left them.
template <class Migrations>
void run_migrations(const Place& place, const Migrations& migrations, int version) {
    const auto database = place.database();
    for (const store::Migration& migration : migrations) {
        if (migration.version > version) return;
        std::string script(migration.text);
        for (auto at = script.find("{schema}"); at != std::string::npos;
             at = script.find("{schema}", at))
            script.replace(at, 8, place.schema());
        database->run(script);
        database->run(
            "insert into " + place.table("schema_version") + " select " +
            std::to_string(migration.version) +
            (place.kind() == BackendKind::sqlite ? ", 'old', 0" : ", 'old', 'old', now()")
        );
    }
}

void install_version(const Place& place, int version) {
#ifdef PAWL_WITH_SQLITE
    if (place.kind() == BackendKind::sqlite)
        run_migrations(place, sqlite::sql::migrations, version);
#endif
#ifdef PAWL_WITH_POSTGRES
    if (place.kind() == BackendKind::postgres) {
        place.database()->run("create schema " + place.schema());
        run_migrations(place, postgres::sql::migrations, version);
    }
#endif
}

TEST_P(SchemaTest, a_fresh_install_is_verified) {
    const SchemaReport report = store().verify();
    EXPECT_TRUE(report.ok()) << problems();
    EXPECT_EQ(report.version, store().stats().schema_version);
}

TEST_P(SchemaTest, installing_again_changes_nothing) {
    const MessageId id = make_queue().enqueue(Json{"1"});
    store().install();
    open().install();
    EXPECT_TRUE(store().verify().ok());
    EXPECT_TRUE(store().queue("work").get(id));
}

TEST_P(SchemaTest, threads_may_install_at_once) {
    const Place fresh(GetParam());
    std::vector<std::future<void>> installs;
    for (int i = 0; i < 8; ++i) {
        installs.push_back(std::async(std::launch::async, [&] {
            connect(fresh.url(), options()).install();
        }));
    }
    for (auto& install : installs) EXPECT_NO_THROW(install.get());
    EXPECT_TRUE(connect(fresh.url(), options()).verify().ok());
}

TEST_P(SchemaTest, processes_may_install_at_once) {
    const Place fresh(GetParam());
    std::vector<Process> installs;
    for (int i = 0; i < 4; ++i) installs.push_back(start_helper({"install", fresh.url()}));
    for (Process& install : installs) EXPECT_EQ(install.wait(), 0);
    EXPECT_TRUE(connect(fresh.url(), options()).verify().ok());
}

TEST_P(SchemaTest, a_store_that_was_not_installed_says_so) {
    const Place fresh(GetParam());
    const Store empty = connect(fresh.url(), options());
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { empty.create_queue("work"); },
             [&] { (void)empty.queues(); },
             [&] { empty.queue("work").enqueue(Json{"1"}); },
             [&] { (void)empty.queue("work").dequeue(); },
             [&] { (void)empty.stats(); },
             [&] { (void)empty.workers(); }}) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::not_installed);
        EXPECT_TRUE(contains(error.what(), "install"));
    }
    EXPECT_FALSE(empty.verify().ok());
    EXPECT_EQ(empty.verify().version, 0);
    empty.install();
    EXPECT_TRUE(empty.verify().ok());
    EXPECT_TRUE(empty.queues().empty()) << "the same store works after the install";
}

TEST_P(SchemaTest, a_newer_schema_is_refused) {
    const std::string versions = place().table("schema_version");
    database()->run("update " + versions + " set version = version + 1000");
    const Store late = open();
    EXPECT_EQ(error_of([&] { (void)late.queues(); }).code(), ErrorCode::schema_too_new);
    EXPECT_EQ(error_of([&] { late.install(); }).code(), ErrorCode::schema_too_new);
    EXPECT_FALSE(late.verify().ok());
    EXPECT_GT(late.verify().version, 1000);
}

TEST_P(SchemaTest, verify_names_a_missing_index) {
    const std::string prefix = on_postgres() ? place().schema() + "." : "pawl_";
    database()->run("drop index " + prefix + "messages_ready");
    EXPECT_TRUE(contains(problems(), "messages_ready is missing"));
}

TEST_P(SchemaTest, verify_names_a_missing_table) {
    database()->run("drop table " + place().table("worker_transitions"));
    EXPECT_TRUE(contains(problems(), "worker_transitions is missing"));
}

TEST_P(SchemaTest, verify_names_a_column_that_was_added) {
    database()->run("alter table " + place().table("messages") + " add column extra integer");
    const std::string table = on_postgres() ? "messages" : "pawl_messages";
    EXPECT_EQ(problems(), "column " + table + ".extra is not part of pawl's schema\n");
    EXPECT_EQ(store().install().problems, std::vector<std::string>{}) << "it harms nothing";
}

TEST_P(SchemaTest, verify_names_an_index_that_is_different) {
    const std::string prefix = on_postgres() ? place().schema() + "." : "pawl_";
    const std::string name = on_postgres() ? "archive_dead" : "pawl_archive_dead";
    database()->run("drop index " + prefix + "archive_dead");
    database()->run("create index " + name + " on " + place().table("archive") + " (queue_id)");
    EXPECT_TRUE(contains(problems(), "archive_dead is ")) << problems();
    EXPECT_TRUE(contains(problems(), ", expected ")) << problems();
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_EQ(problems(), "");
}

TEST_P(SchemaTest, verify_says_how_a_column_differs) {
    if (on_postgres()) {
        database()->run(
            "alter table " + place().table("worker_transitions") + " alter event type varchar(20)"
        );
        EXPECT_EQ(
            problems(),
            "column worker_transitions.event is character varying(20) not null, expected text not "
            "null\n"
        );
    } else {
        database()->run("alter table pawl_events rename column kind to sort");
        EXPECT_EQ(
            problems(),
            "column pawl_events.kind is missing\n"
            "column pawl_events.sort is not part of pawl's schema\n"
        );
    }
}

TEST_P(SchemaTest, install_restores_an_index_and_says_so) {
    const std::string prefix = on_postgres() ? place().schema() + "." : "pawl_";
    const std::string name = on_postgres() ? "messages_ready" : "pawl_messages_ready";
    database()->run("drop index " + prefix + "messages_ready");
    const InstallReport report = store().install();
    EXPECT_EQ(report.repaired, std::vector<std::string>{"index " + name + " is missing: restored"});
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(problems(), "");
    EXPECT_TRUE(contains(log_text(), "index " + name + " is missing: restored"));
    EXPECT_EQ(store().install().repaired, std::vector<std::string>{});
}

TEST_P(SchemaTest, an_index_that_cannot_be_restored_is_a_problem) {
    const std::string prefix = on_postgres() ? place().schema() + "." : "pawl_";
    store().create_workflow("order");
    for (const std::string key : {"a", "b"})
        workflow("order").trigger(Json{"1"}).idempotency_key(key).execute(store());
    database()->run("drop index " + prefix + "runs_key");
    database()->run("update " + place().table("runs") + " set idempotency_key = 'a'");
    const InstallReport report = store().install();
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_TRUE(contains(report.problems.front(), "runs_key is missing: cannot be restored: "));
    EXPECT_TRUE(contains(problems(), "runs_key")) << problems();
}

TEST_P(SchemaTest, what_held_data_is_reported_and_not_restored) {
    const auto base = database();
    base->run("alter table " + place().table("calls") + " drop column caller_task");
    base->run("drop table " + place().table("signals"));
    const std::string prefix = on_postgres() ? "" : "pawl_";
    const InstallReport report = store().install();
    EXPECT_EQ(report.repaired, std::vector<std::string>{});
    ASSERT_EQ(report.problems.size(), 2U);
    EXPECT_TRUE(report.problems[0].starts_with(
        "column " + prefix + "calls.caller_task is missing: cannot be restored: its data are lost"
    )) << report.problems[0];
    EXPECT_TRUE(report.problems[1].starts_with("table " + prefix + "signals is missing: cannot"))
        << report.problems[1];
    EXPECT_EQ(store().verify().problems.size(), 2U) << problems();
}

TEST_P(SchemaTest, a_damaged_schema_is_repaired_by_an_upgrade) {
    const Place old(GetParam());
    install_version(old, 4);
    const std::string prefix = on_postgres() ? old.schema() + "." : "pawl_";
    old.database()->run("drop index " + prefix + "messages_ready");
    const Store store = connect(old.url(), options());
    const InstallReport report = store.install();
    EXPECT_EQ(report.from_version, 4);
    EXPECT_EQ(report.version, SchemaTest::store().verify().version);
    EXPECT_EQ(report.problems, std::vector<std::string>{});
    ASSERT_EQ(report.repaired.size(), 1U);
    EXPECT_TRUE(contains(report.repaired.front(), "messages_ready is missing: restored"));
    EXPECT_EQ(store.verify().problems, std::vector<std::string>{});
}

TEST_P(SchemaTest, verify_leaves_tables_of_the_user_alone) {
    const std::string name = on_postgres() ? place().schema() + ".orders" : "orders";
    database()->run("create table " + name + " (id integer)");
    EXPECT_EQ(problems(), "");
}

#ifdef PAWL_WITH_POSTGRES
class PostgresSchemaTest : public SchemaTest {};
INSTANTIATE_TEST_SUITE_P(
    , PostgresSchemaTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(PostgresSchemaTest, verify_names_a_missing_function) {
    database()->run("drop function " + place().schema() + ".purge_queue(text)");
    EXPECT_TRUE(contains(problems(), "function purge_queue(queue_name text) is missing"));
}

TEST_P(PostgresSchemaTest, verify_names_a_function_that_is_different) {
    database()->run(
        "create or replace function " + place().schema() +
        ".ms(milliseconds bigint) returns interval language sql immutable as $$ select interval '1 "
        "day' $$"
    );
    EXPECT_TRUE(contains(problems(), "function ms(milliseconds bigint) is different"));
}

TEST_P(PostgresSchemaTest, install_restores_functions_views_constraints_and_settings) {
    const std::string schema = place().schema();
    const auto base = database();
    base->run("drop function " + schema + ".purge_queue(text)");
    base->run("drop view " + schema + ".run_ends");
    base->run("create or replace view " + schema + ".run_ends as select 1 as one");
    base->run("alter table " + schema + ".retention drop constraint retention_kind_check");
    base->run("alter table " + schema + ".messages set (fillfactor = 90)");
    EXPECT_EQ(store().verify().problems.size(), 4U) << problems();
    EXPECT_TRUE(contains(problems(), "setting messages.fillfactor is 90, expected 70"));
    const InstallReport report = store().install();
    EXPECT_EQ(report.problems, std::vector<std::string>{});
    EXPECT_EQ(report.repaired.size(), 4U);
    EXPECT_EQ(problems(), "");
    make_queue();
    EXPECT_EQ(store().queue("work").purge(), 0) << "the function works again";
}

TEST_P(PostgresSchemaTest, an_invalid_index_is_built_again_while_others_write) {
    const std::string index = place().schema() + ".messages_due";
    const auto base = database();
    base->run(
        "update pg_index set indisvalid = false where indexrelid = '" + index + "'::regclass"
    );
    EXPECT_TRUE(contains(problems(), "(invalid), expected CREATE INDEX messages_due"));
    make_queue();
    const auto writer = database();
    writer->begin();
    writer->run("select " + place().schema() + ".enqueue('work', '1')");
    auto installing = std::async(std::launch::async, [&] { return open().install(); });
    EXPECT_TRUE(eventually([&] {
        return base->number(
                   "select count(*) from pg_stat_activity where query ilike '%index concurrently%' "
                   "and wait_event_type = 'Lock'"
               ) == 1;
    }));
    make_queue("other").enqueue(Json{"1"});  // would wait for a lock on the table
    writer->run("commit");
    EXPECT_EQ(installing.get().repaired.size(), 1U);
    EXPECT_EQ(problems(), "");
}

TEST_P(PostgresSchemaTest, a_manifest_that_was_changed_deceives_nobody) {
    const std::string schema = place().schema();
    const auto base = database();
    base->run("drop index " + schema + ".messages_due");
    base->run("delete from " + schema + ".schema_manifest where name = 'messages_due'");
    EXPECT_TRUE(contains(problems(), "messages_due is missing"));
    EXPECT_EQ(store().install().repaired.size(), 1U);
    base->run("drop table " + schema + ".schema_manifest");
    EXPECT_TRUE(contains(problems(), "table schema_manifest is missing"));
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_EQ(problems(), "");
}

TEST_P(PostgresSchemaTest, a_role_that_may_create_nothing_compares_and_reports) {
    const std::string role = place().schema() + "_role";
    const auto base = database();
    base->run("create role " + role + " login");
    base->run("select " + place().schema() + ".grant_access('" + role + "', 'worker')");
    const Store store =
        connect(with_parameter(place().url(), "options=-crole%3D" + role), options());
    EXPECT_EQ(store.verify().problems, std::vector<std::string>{});
    base->run("drop index " + place().schema() + ".messages_due");
    EXPECT_EQ(store.verify().problems.size(), 1U);
    const InstallReport report = store.install();
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_TRUE(contains(report.problems.front(), "cannot be restored")) << report.problems.front();
    base->run("drop owned by " + role);
    base->run("drop role " + role);
}

TEST_P(PostgresSchemaTest, a_test_clock_is_no_damage) {
    freeze();
    database()->run("drop function " + place().schema() + ".purge_queue(text)");
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_EQ(store().now(), start);
    EXPECT_EQ(problems(), "the clock is replaced by a test clock\n");
}

TEST_P(PostgresSchemaTest, two_schemas_in_one_database_do_not_see_each_other) {
    const Place other(BackendKind::postgres);
    const Store tenant = connect(other.url(), options());
    tenant.install();
    make_queue("work").enqueue(Json{"1"});
    tenant.create_queue("work");
    EXPECT_EQ(tenant.stats().ready, 0);
    EXPECT_EQ(store().stats().ready, 1);
}
#endif

}  // namespace
}  // namespace pawl::test
