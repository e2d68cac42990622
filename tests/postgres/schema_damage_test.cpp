// Damage that only PostgreSQL can have: functions, views, constraints, invalid indexes, roles and
// other schemas of the same database.
#include <future>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class SchemaDamageTest : public StoreTest {
protected:
    std::string problems() const {
        std::string all;
        for (const std::string& problem : store().verify().problems()) all += problem + "\n";
        return all;
    }
};
INSTANTIATE_TEST_SUITE_P(
    , SchemaDamageTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(SchemaDamageTest, verify_names_a_missing_function) {
    database()->run("drop function " + place().schema() + ".purge_queue(text)");
    EXPECT_TRUE(contains(problems(), "function purge_queue(queue_name text) is missing"));
}

TEST_P(SchemaDamageTest, verify_names_a_function_that_is_different) {
    database()->run(
        "create or replace function " + place().schema() +
        ".ms(milliseconds bigint) returns interval language sql immutable as $$ select interval '1 "
        "day' $$"
    );
    EXPECT_TRUE(contains(problems(), "function ms(milliseconds bigint) is different"));
}

TEST_P(SchemaDamageTest, install_restores_functions_views_constraints_and_settings) {
    const std::string schema = place().schema();
    const auto base = database();
    base->run("drop function " + schema + ".purge_queue(text)");
    base->run("drop view " + schema + ".run_ends");
    base->run("create or replace view " + schema + ".run_ends as select 1 as one");
    base->run("alter table " + schema + ".retention drop constraint retention_kind_check");
    base->run("alter table " + schema + ".messages set (fillfactor = 90)");
    EXPECT_EQ(store().verify().problems().size(), 4U) << problems();
    EXPECT_TRUE(contains(problems(), "setting messages.fillfactor is 90, expected 70"));
    const InstallReport report = store().install();
    EXPECT_EQ(report.problems, std::vector<std::string>{});
    EXPECT_EQ(report.repaired.size(), 4U);
    EXPECT_EQ(problems(), "");
    make_queue();
    EXPECT_EQ(store().queue("work").purge(), 0) << "the function works again";
}

TEST_P(SchemaDamageTest, an_invalid_index_is_built_again_while_others_write) {
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
                   "select count(*) from pg_stat_activity where datname = current_database() and "
                   "query ilike '%index concurrently%' "
                   "and wait_event_type = 'Lock'"
               ) == 1;
    }));
    make_queue("other").enqueue(Json{"1"});  // would wait for a lock on the table
    writer->run("commit");
    EXPECT_EQ(installing.get().repaired.size(), 1U);
    EXPECT_EQ(problems(), "");
}

TEST_P(SchemaDamageTest, a_changed_manifest_is_ignored) {
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

TEST_P(SchemaDamageTest, a_role_that_may_create_nothing_compares_and_reports) {
    const std::string role = place().schema() + "_role";
    const auto base = database();
    base->run("create role " + role + " login");
    base->run("select " + place().schema() + ".grant_access('" + role + "', 'worker')");
    const Store store =
        connect(with_parameter(place().url(), "options=-crole%3D" + role), options());
    EXPECT_EQ(store.verify().problems(), std::vector<std::string>{});
    base->run("drop index " + place().schema() + ".messages_due");
    EXPECT_EQ(store.verify().problems().size(), 1U);
    const InstallReport report = store.install();
    ASSERT_EQ(report.problems.size(), 1U);
    EXPECT_TRUE(contains(report.problems.front(), "cannot be restored")) << report.problems.front();
    base->run("drop owned by " + role);
    base->run("drop role " + role);
}

TEST_P(SchemaDamageTest, a_test_clock_is_not_damage) {
    freeze();
    database()->run("drop function " + place().schema() + ".purge_queue(text)");
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_EQ(store().now(), start);
    EXPECT_EQ(problems(), "the clock is replaced by a test clock\n");
}

TEST_P(SchemaDamageTest, two_schemas_in_one_database_do_not_see_each_other) {
    const Place other(BackendKind::postgres);
    const Store tenant = connect(other.url(), options());
    tenant.install();
    make_queue("work").enqueue(Json{"1"});
    tenant.create_queue("work");
    EXPECT_EQ(tenant.stats().ready, 0);
    EXPECT_EQ(store().stats().ready, 1);
}

}  // namespace
}  // namespace pawl::test
