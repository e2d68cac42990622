#include <future>

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

TEST_P(SchemaTest, verify_names_a_table_that_is_different) {
    database()->run("alter table " + place().table("messages") + " add column extra integer");
    EXPECT_TRUE(contains(problems(), "messages is different"));
}

TEST_P(SchemaTest, verify_names_an_index_that_is_different) {
    const std::string prefix = on_postgres() ? place().schema() + "." : "pawl_";
    const std::string name = on_postgres() ? "archive_dead" : "pawl_archive_dead";
    database()->run("drop index " + prefix + "archive_dead");
    database()->run("create index " + name + " on " + place().table("archive") + " (queue_id)");
    EXPECT_TRUE(contains(problems(), "archive_dead is different"));
}

TEST_P(SchemaTest, verify_survives_a_missing_manifest) {
    database()->run("drop table " + place().table("schema_manifest"));
    EXPECT_TRUE(contains(problems(), "schema_manifest"));
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
