// On PostgreSQL: a role of one tenant cannot access another one, and neither do locks and wake-ups
// cross.
#include <pawl/json.h>
#include <thread>

#include "support/tenants_test.h"

namespace pawl::test {
namespace {

class TenantAccessTest : public TenantsTest {
protected:
    void SetUp() override {
        TenantsTest::SetUp();
        role_ = "role_" + place().unique_name();
        database()->run("create role " + role_);
        for (const Store* store : {&a(), &b()}) {
            store->create_queue("work");
            store->create_workflow("job");
            store->queue("work").enqueue(Json{"1"});
        }
    }
    void TearDown() override {
        database()->run("drop owned by " + role_);
        database()->run("drop role " + role_);
        TenantsTest::TearDown();
    }
    void grant(const std::string& access) const {
        database()->run("select " + name("a") + ".grant_access('" + role_ + "', '" + access + "')");
    }
    [[nodiscard]] Store as_role(const std::string& tenant) const {
        const std::string url = with_parameter(place().server_url(), "schema=" + tenant);
        return connect(with_parameter(url, "options=-crole%3D" + role_), options());
    }
    // The functions or tables of a tenant that match the condition.
    [[nodiscard]] long functions_where(const std::string& tenant, const std::string& condition)
        const {
        return database()->number(
            "select count(*) from pg_proc p where p.pronamespace = '" + tenant +
            "'::regnamespace and " + condition
        );
    }
    [[nodiscard]] const std::string& role() const { return role_; }

private:
    std::string role_;
};
INSTANTIATE_TEST_SUITE_P(
    , TenantAccessTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(TenantAccessTest, a_role_that_may_read_no_tenant_gets_an_error) {
    const Error error = error_of([&] { (void)as_role(name("a")).tenants(); });
    EXPECT_TRUE(contains(error.what(), "may read none of the stores in this database"));
    EXPECT_TRUE(contains(error.what(), name("a")));
    EXPECT_TRUE(contains(error.what(), "grant_access"));
    grant("producer");
    EXPECT_EQ(as_role(name("a")).tenants().size(), 1U);
}

TEST_P(TenantAccessTest, a_role_of_one_tenant_may_call_and_read_nothing_of_another) {
    for (const char* access : {"producer", "worker", "operator"}) {
        grant(access);
        EXPECT_GT(
            functions_where(
                name("a"), "has_function_privilege('" + role() + "', p.oid, 'execute')"
            ),
            0
        );
        EXPECT_EQ(
            functions_where(
                name("b"), "has_function_privilege('" + role() + "', p.oid, 'execute')"
            ),
            0
        ) << access;
        EXPECT_EQ(
            database()->number(
                "select count(*) from pg_class c where c.relnamespace = '" + name("b") +
                "'::regnamespace and c.relkind in ('r', 'v', 'S') and "
                "case when c.relkind = 'S' then has_sequence_privilege('" +
                role() + "', c.oid, 'usage, select, update') else has_table_privilege('" + role() +
                "', c.oid, 'select, insert, update, delete, truncate') end"
            ),
            0
        ) << access;
        EXPECT_EQ(
            database()->value(
                "select has_schema_privilege('" + role() + "', '" + name("b") +
                "', 'usage, create')"
            ),
            "f"
        ) << access;
    }
}

TEST_P(TenantAccessTest, its_program_works_its_own_tenant_and_is_refused_by_the_other) {
    grant("operator");
    as_role(name("a")).queue("work").enqueue(Json{"2"});
    EXPECT_EQ(a().queue("work").stats().ready, 2);
    const Contents before = contents(name("b"));
    const Error error = error_of([&] { as_role(name("b")).queue("work").enqueue(Json{"2"}); });
    EXPECT_TRUE(contains(error.what(), "permission denied")) << error.what();
    EXPECT_EQ(contents(name("b")), before);
}

TEST_P(TenantAccessTest, it_sees_no_other_tenant_in_the_list) {
    grant("producer");
    EXPECT_EQ(listed_tenants(as_role(name("a"))), std::vector<std::string>{name("a")});
}

TEST_P(TenantAccessTest, other_programs_tables_are_not_tenants) {
    const std::string other = name("c");
    database()->run("create schema " + other);
    database()->run("create table " + other + ".schema_version (version text)");
    database()->run("create table " + other + ".schema_manifest (version text)");
    EXPECT_EQ(
        listed_tenants(store()), (std::vector<std::string>{place().schema(), name("a"), name("b")})
    );
}

TEST_P(TenantAccessTest, tenants_that_come_and_go_do_not_disturb_the_list) {
    std::jthread others([&](const std::stop_token& stop) {
        const auto session = database();
        const std::string other = name("c");
        while (!stop.stop_requested()) {
            session->run("create schema " + other);
            session->run(
                "create table " + other +
                ".schema_version (version integer, name text, functions text, installed_at text)"
            );
            session->run("create table " + other + ".schema_manifest (kind text)");
            session->run("drop schema " + other + " cascade");
        }
    });
    for (int i = 0; i < 50; ++i) {
        const auto seen = listed_tenants(store());
        EXPECT_NE(std::ranges::find(seen, name("a")), seen.end());
    }
}

TEST_P(TenantAccessTest, locks_and_channels_are_the_tenants_own) {
    const std::string keys =
        "select count(distinct k) from (values ({a}.queue_lock_key(1)), "
        "({b}.queue_lock_key(1))) v(k)";
    std::string sql = keys;
    for (const auto& [place, tenant] : {std::pair{"{a}", name("a")}, std::pair{"{b}", name("b")}}) {
        for (auto at = sql.find(place); at != std::string::npos; at = sql.find(place))
            sql.replace(at, 3, tenant);
    }
    EXPECT_EQ(database()->number(sql), 2);
    EXPECT_GT(functions_where(name("a"), "p.prosrc ~ 'pg_notify'"), 0);
    EXPECT_EQ(
        functions_where(
            name("a"), "p.prosrc ~ 'pg_notify' and p.prosrc !~ '''pawl_" + name("a") + "'''"
        ),
        0
    ) << "every wake-up goes to the channel of its own schema";
    EXPECT_EQ(functions_where(name("a"), "p.prosrc ~ '" + name("b") + "'"), 0);
}

TEST_P(TenantAccessTest, a_lock_on_a_queue_of_one_tenant_does_not_block_the_other) {
    const auto holder = database();
    holder->begin();
    holder->run("select pg_advisory_xact_lock(" + name("a") + ".queue_lock_key(1))");
    b().queue("work").enqueue(Json{"2"});  // would wait for the lock
    EXPECT_EQ(b().queue("work").stats().ready, 2);
    holder->run("rollback");
}

}  // namespace
}  // namespace pawl::test
