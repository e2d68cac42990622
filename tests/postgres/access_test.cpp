// Access levels: no function is public, and roles need no privilege on any table.
#include <pawl/json.h>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class AccessTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        role_ = "role_" + place().unique_name();
        database()->run("create role " + role_);
        make_workflow();
        make_queue();
    }
    void TearDown() override {
        database()->run("drop owned by " + role_);
        database()->run("drop role " + role_);
        WorkflowTest::TearDown();
    }
    void grant(const std::string& access) const {
        database()->run(
            "select " + place().schema() + ".grant_access('" + role_ + "', '" + access + "')"
        );
    }
    // A program that connects as that role.
    [[nodiscard]] std::string url() const {
        return with_parameter(place().url(), "options=-crole%3D" + role_);
    }
    // Empty, or the reason why the role may not call it.
    [[nodiscard]] std::string refused(const std::string& sql) const {
        const auto session = database();
        session->run("set role " + role_);
        try {
            session->run(sql);
        } catch (const std::exception& error) {
            return error.what();
        }
        return "";
    }
    [[nodiscard]] std::string refused_call(const std::string& call) const {
        return refused("select * from " + place().schema() + "." + call);
    }
    // Functions of the schema that match the condition on `pg_proc p`.
    [[nodiscard]] std::string functions_where(const std::string& condition) const {
        return database()->value(
            "select coalesce(string_agg(p.oid::regprocedure::text, ' '), '') from pg_proc p where "
            "p.pronamespace = '" +
            place().schema() + "'::regnamespace and " + condition
        );
    }
    [[nodiscard]] const std::string& role() const { return role_; }

private:
    std::string role_;
};
INSTANTIATE_TEST_SUITE_P(, AccessTest, ::testing::Values(BackendKind::postgres), backend_name);

const std::vector<std::string> producer_calls{
    "enqueue('work', '1')",
    "trigger('job', tags => array['red'])",
    "list_runs('job')",
    "get_run(1)",
    "metrics('work')",
    "list_messages('work')",
    "workflow_metrics('job')",
    "run_history(1)",
    "list_retention()"};
const std::vector<std::string> worker_calls{
    "dequeue('work')",
    "claim_queue('work')",
    "archive(array[1]::bigint[], array[1])",
    "finish_runs(array[1]::bigint[], array[1], array['1'])",
    "register_worker('w', 'h', 0, 1, 30000, '{}', '{}')",
    "heartbeat(1)",
    "plan_prune()",
    "prune_batch('success', 1)",
    "claim_prune(1)"};
const std::vector<std::string> operator_calls{
    "create_queue('other')",
    "create_workflow('other_job')",
    "purge_queue('work')",
    "set_retention('outbox', keep_ms => 1)"};

TEST_P(AccessTest, every_function_has_a_comment) {
    EXPECT_EQ(functions_where("obj_description(p.oid, 'pg_proc') is null"), "");
}

TEST_P(AccessTest, nothing_is_open_to_everybody) {
    EXPECT_EQ(
        functions_where(
            "exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a "
            "where a.grantee = 0)"
        ),
        ""
    );
}

TEST_P(AccessTest, functions_with_the_rights_of_the_owner_set_their_search_path) {
    EXPECT_EQ(
        functions_where(
            "p.prosecdef and not coalesce(p.proconfig, '{}') @> array['search_path=pg_catalog, "
            "pg_temp']"
        ),
        ""
    );
    EXPECT_NE(functions_where("p.prosecdef"), "");
}

TEST_P(AccessTest, only_grants_and_the_installation_build_statements) {
    EXPECT_EQ(functions_where("p.prosrc ~* '\\mexecute\\M' and p.proname <> 'grant_access'"), "");
}

TEST_P(AccessTest, an_install_over_an_installed_schema_opens_nothing) {
    grant("producer");
    database()->run("update " + place().table("schema_version") + " set functions = ''");
    store().install();
    EXPECT_EQ(
        functions_where("p.oid::regprocedure::text like '%.enqueue(text,json,%' and not p.prosecdef"
        ),
        ""
    );
    EXPECT_EQ(refused_call("enqueue('work', '1')"), "");
    EXPECT_TRUE(contains(refused_call("dequeue('work')"), "permission denied"));
    EXPECT_TRUE(store().verify().ok());
}

// An earlier version: the same functions with other signatures.
TEST_P(AccessTest, roles_may_call_what_they_could_call_after_an_upgrade_that_changed_functions) {
    grant("operator");
    const auto may_call = [&] {
        return database()->value(
            "select string_agg(p.proname, ' ' order by p.proname) from pg_proc p where "
            "p.pronamespace = '" +
            place().schema() + "'::regnamespace and has_function_privilege('" + role() +
            "', p.oid, 'execute')"
        );
    };
    const std::string before = may_call();
    const auto replace = [&](const std::string& current, const std::string& earlier) {
        const std::string mine = place().schema() + ".";
        database()->run("drop function " + mine + current + "; create function " + mine + earlier);
        database()->run(
            "comment on function " + mine + earlier.substr(0, earlier.find('(')) +
            " is 'An earlier one.'"
        );
        database()->run(
            "grant execute on function " + mine + earlier.substr(0, earlier.find('(')) + " to " +
            role()
        );
    };
    replace(
        "list_workflows",
        "list_workflows(only_workflow text default null) returns table (workflow text) language "
        "sql as $$ select 'job' $$"
    );
    replace(
        "create_workflow",
        "create_workflow(text, integer, bigint, bigint, bigint, bigint, integer, text, text) "
        "returns void language sql as $$ select $$"
    );
    database()->run("update " + place().table("schema_version") + " set functions = ''");
    store().install();
    EXPECT_EQ(refused_call("list_workflows('job')"), "");
    EXPECT_EQ(refused_call("create_workflow('other_job', publish => 'ends')"), "");
    EXPECT_EQ(may_call(), before);
    EXPECT_TRUE(store().verify().ok());
}

TEST_P(AccessTest, an_install_is_not_stopped_by_what_a_user_has_built_on_a_function) {
    const std::string mine = place().schema() + ".";
    database()->run(
        "create view " + mine + "my_workflows as select * from " + mine + "list_workflows()"
    );
    database()->run("update " + place().table("schema_version") + " set functions = ''");
    store().install();
    EXPECT_EQ(database()->value("select workflow from " + mine + "my_workflows"), "job");
}

TEST_P(AccessTest, an_install_without_the_right_to_create_schemas_names_the_grant) {
    std::string other = url();
    other.insert(other.find(place().schema()), "new_");
    const Error error = error_of([&] { connect(other, options()).install(); });
    EXPECT_TRUE(contains(error.what(), "permission denied for database"));
    EXPECT_TRUE(contains(error.what(), "to run grant create on database"));
}

TEST_P(AccessTest, a_missing_right_names_the_access_that_is_needed) {
    const auto error_as = [&](const std::string& access, const std::function<void(Store&)>& call) {
        database()->run(
            "select " + place().schema() + ".grant_access('" + role() + "', '" + access + "')"
        );
        Store store =
            connect(with_parameter(place().url(), "options=-crole%3D" + role()), options());
        return std::string(error_of([&] { call(store); }).what());
    };
    const std::string grant = place().schema() + ".grant_access('ROLE', '";
    const RunId run = trigger();
    const auto none = error_as("none", [&](Store& store) { (void)store.queues(); });
    EXPECT_TRUE(contains(none, grant + "producer, worker or operator')"));
    const auto retry = error_as("producer", [&](Store& store) { (void)store.retry(run); });
    EXPECT_TRUE(contains(retry, "permission denied for function retry")) << retry;
    EXPECT_TRUE(contains(retry, grant + "operator')")) << retry;
    const auto dequeue =
        error_as("producer", [&](Store& store) { (void)store.queue("work").dequeue(); });
    EXPECT_TRUE(contains(dequeue, grant + "worker')")) << dequeue;
}

TEST_P(AccessTest, a_schema_of_another_role_is_not_installed_into) {
    const std::string schema = place().schema() + "_theirs";
    const auto base = database();
    base->run("create schema " + schema + " authorization " + role());
    const auto url = with_parameter(place().server_url(), "schema=" + schema);
    const Error error = error_of([&] { connect(url, options()).install(); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "belongs to role '" + role() + "'")) << error.what();
    EXPECT_TRUE(contains(error.what(), "alter schema " + schema + " owner to"));
    EXPECT_EQ(
        base->number(
            "select count(*) from pg_class where relnamespace = '" + schema + "'::regnamespace"
        ),
        0
    );
    base->run(
        "grant create on database " + base->value("select current_database()") + " to " + role()
    );
    connect(with_parameter(url, "options=-crole%3D" + role()), options()).install();
    base->run("drop schema " + schema + " cascade");
}

TEST_P(AccessTest, a_schema_in_which_others_may_create_objects_is_unsafe) {
    const auto base = database();
    base->run("grant create on schema " + place().schema() + " to " + role());
    const SchemaReport report = store().verify();
    ASSERT_EQ(report.problems().size(), 1U);
    EXPECT_TRUE(contains(
        report.problems().front(), "revoke create on schema " + place().schema() + " from " + role()
    ));
    base->run("update " + place().table("schema_version") + " set functions = ''");
    EXPECT_EQ(error_of([&] { store().install(); }).code(), ErrorCode::invalid_argument);
}

TEST_P(AccessTest, a_role_without_access_can_do_nothing) {
    for (const auto& calls : {producer_calls, worker_calls, operator_calls}) {
        for (const std::string& call : calls)
            EXPECT_TRUE(contains(refused_call(call), "permission denied")) << call;
    }
}

TEST_P(AccessTest, a_producer_starts_work_and_reads_it) {
    grant("producer");
    for (const std::string& call : producer_calls) EXPECT_EQ(refused_call(call), "") << call;
    for (const auto& calls : {worker_calls, operator_calls}) {
        for (const std::string& call : calls)
            EXPECT_TRUE(contains(refused_call(call), "permission denied")) << call;
    }
}

TEST_P(AccessTest, a_worker_may_also_do_the_work) {
    grant("worker");
    for (const auto& calls : {producer_calls, worker_calls}) {
        for (const std::string& call : calls) EXPECT_EQ(refused_call(call), "") << call;
    }
    for (const std::string& call : operator_calls)
        EXPECT_TRUE(contains(refused_call(call), "permission denied")) << call;
}

TEST_P(AccessTest, an_operator_may_do_everything_but_what_is_the_owners) {
    grant("operator");
    for (const auto& calls : {producer_calls, worker_calls, operator_calls}) {
        for (const std::string& call : calls) EXPECT_EQ(refused_call(call), "") << call;
    }
    for (const std::string call : {"grant_access('public', 'operator')", "ms(1)"})
        EXPECT_TRUE(contains(refused_call(call), "permission denied")) << call;
}

TEST_P(AccessTest, no_access_reaches_around_the_functions) {
    grant("operator");
    for (const std::string table : {"messages", "runs", "steps", "events", "archive"}) {
        EXPECT_TRUE(contains(refused("select * from " + place().table(table)), "permission denied")
        );
        EXPECT_TRUE(contains(refused("delete from " + place().table(table)), "permission denied"));
    }
    for (const std::string table : {"queues", "workflows"})
        EXPECT_TRUE(contains(refused("delete from " + place().table(table)), "permission denied"));
}

// What docs/flows.md describes.
TEST_P(AccessTest, every_access_reads_the_views_of_flows_and_changes_nothing_through_them) {
    const std::vector<std::string> views{"flow_runs", "step_states", "task_states"};
    for (const std::string access : {"producer", "worker", "operator"}) {
        grant(access);
        for (const std::string& view : views) {
            EXPECT_EQ(refused("select * from " + place().table(view)), "") << access;
            EXPECT_NE(refused("delete from " + place().table(view)), "") << access;
        }
    }
    grant("none");
    for (const std::string& view : views)
        EXPECT_NE(refused("select * from " + place().table(view)), "");
}

TEST_P(AccessTest, an_upgrade_gives_roles_the_views_that_it_adds) {
    grant("producer");
    database()->run("revoke select on " + place().table("flow_runs") + " from " + role());
    database()->run("update " + place().table("schema_version") + " set functions = ''");
    store().install();
    EXPECT_EQ(refused("select * from " + place().table("flow_runs")), "");
    EXPECT_NE(refused("select * from " + place().table("runs")), "");
}

TEST_P(AccessTest, access_is_lowered_and_taken_away) {
    grant("operator");
    grant("producer");
    EXPECT_TRUE(contains(refused_call("dequeue('work')"), "permission denied"));
    EXPECT_EQ(refused_call("enqueue('work', '1')"), "");
    grant("none");
    EXPECT_TRUE(contains(refused_call("enqueue('work', '1')"), "permission denied"));
}

TEST_P(AccessTest, access_is_given_only_to_roles_that_exist_and_are_not_the_owner) {
    const auto why = [&](const std::string& arguments) {
        try {
            database()->run("select " + place().schema() + ".grant_access(" + arguments + ")");
        } catch (const std::exception& error) {
            return std::string(error.what());
        }
        return std::string();
    };
    EXPECT_TRUE(contains(why("'public', 'producer'"), "role 'public' does not exist"));
    EXPECT_TRUE(contains(why("'x; drop table y', 'producer'"), "does not exist"));
    EXPECT_TRUE(contains(why("current_user, 'producer'"), "owns the schema"));
    EXPECT_TRUE(contains(why("'" + role() + "', 'everything'"), "unknown access 'everything'"));
    EXPECT_TRUE(contains(why("'" + role() + "', null"), "unknown access"));
}

TEST_P(AccessTest, a_function_of_the_callers_cannot_slip_in) {
    grant("producer");
    const std::string mine = "mine_" + place().unique_name();
    database()->run("create schema " + mine + " authorization " + role());
    const auto session = database();
    session->run("set role " + role());
    session->run(
        "create function " + mine +
        ".pg_advisory_xact_lock_shared(bigint) returns void language plpgsql as $$ begin raise "
        "exception 'called as %', current_user; end $$"
    );
    session->run("create temp table queues (queue_id bigint, name text)");
    session->run("set search_path = " + mine + ", pg_temp, pg_catalog");
    session->run("select " + place().schema() + ".enqueue('work', '1')");
    EXPECT_EQ(store().queue("work").stats().ready, 1);
}

TEST_P(AccessTest, a_worker_in_cpp_needs_no_more_than_worker) {
    grant("worker");
    const Store mine = connect(url(), options());
    Worker working =
        worker("w").handle(
                       "job", [](Context& ctx) { return ctx.step("a", [] { return 1; }); }
        ).on_message("work", [](const Message&) {
         }).create(mine);
    working.start();
    const Run run = workflow("job").trigger().execute(mine);
    EXPECT_EQ(run.wait_json(40s).text, "1");
    mine.queue("work").enqueue(Json{"1"});
    EXPECT_TRUE(eventually([&] { return mine.queue("work").stats().archived == 1; }));
    EXPECT_TRUE(mine.verify().ok());
    working.stop();
    mine.queue("work").enqueue(Json{"2"});
    EXPECT_EQ(mine.queue("work").dequeue().size(), 1U);
    EXPECT_EQ(error_of([&] { mine.create_queue("other"); }).code(), ErrorCode::database_error);
}

}  // namespace
}  // namespace pawl::test
