// The optional schema `pgflow`: the README of pgflow, and the mapping of its terms.
#include <cstdlib>
#include <fmt/format.h>
#include <regex>
#include <unistd.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class PgflowTest : public StoreTest {
protected:
    // The name of the schema is fixed, so each test has a separate database.
    void SetUp() override {
        open_postgres_database(server_)->run("create database " + name_);
        const std::regex path("/[^/?]*(\\?.*)?$");
        const std::string url = std::regex_replace(server_, path, "/" + name_ + "$1");
        setenv("PAWL_TEST_POSTGRES_URL", url.c_str(), 1);
        StoreTest::SetUp();
        sql_ = database();
        store().install(Compat::pgflow);
    }
    void TearDown() override {
        sql_.reset();
        StoreTest::TearDown();
        setenv("PAWL_TEST_POSTGRES_URL", server_.c_str(), 1);
        open_postgres_database(server_)->run("drop database " + name_ + " with (force)");
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    void define() const {
        sql_->run(R"(
-- Define workflow with parallel steps
SELECT pgflow.create_flow('analyze_website');
SELECT pgflow.add_step('analyze_website', 'website');
SELECT pgflow.add_step('analyze_website', 'sentiment', deps_slugs => ARRAY['website']);
SELECT pgflow.add_step('analyze_website', 'summary', deps_slugs => ARRAY['website']);
SELECT pgflow.add_step('analyze_website', 'saveToDb', deps_slugs => ARRAY['sentiment', 'summary']);
)");
    }
    [[nodiscard]] std::vector<Row> take() const {
        return sql_->rows(
            "select step_slug, input, flow_input from pgflow.start_tasks('analyze_website', "
            "array(select msg_id from pgflow.read_with_poll('analyze_website', 60, 5, 0)), null) "
            "order by step_slug"
        );
    }

private:
    const std::string server_ = test_server_url();
    const std::string name_ = fmt::format("pgflow_{}", getpid());
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(, PgflowTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(PgflowTest, the_example_of_its_readme_runs) {
    define();
    const auto started = sql().rows(R"(
SELECT * FROM pgflow.start_flow(
  flow_slug => 'analyze_website',
  input => '{"url": "https://example.com"}'::jsonb
);
)");
    ASSERT_EQ(started.size(), 1U);
    const std::string run = started[0][0];
    EXPECT_EQ(started[0][1], "analyze_website");
    EXPECT_EQ(started[0][2], "started");
    EXPECT_EQ(started[0][3], R"({"url": "https://example.com"})");
    EXPECT_EQ(started[0][4], "");
    EXPECT_EQ(started[0][5], "4");

    const auto read = sql().rows(R"(
SELECT * FROM pgflow.read_with_poll(
  queue_name => 'analyze_website',
  vt => 60, -- visibility timeout in seconds
  qty => 5  -- maximum number of messages to fetch
);
)");
    ASSERT_EQ(read.size(), 1U);
    EXPECT_TRUE(contains(read[0][4], run)) << "the message names the run by its uuid";
    const auto tasks = sql().rows(fmt::format(
        R"(
SELECT * FROM pgflow.start_tasks(
  flow_slug => 'analyze_website',
  msg_ids => ARRAY[{}], -- message IDs from phase 1
  worker_id => '550e8400-e29b-41d4-a716-446655440000'::uuid,
  queue_name => 'analyze_website' -- the queue's canonical name: lower(flow_slug), the exact spelling tasks store (#650)
);
)",
        read[0][0]
    ));
    EXPECT_EQ(
        tasks,
        (std::vector<Row>{
            {"analyze_website",
             run,
             "website",
             "{}",
             read[0][0],
             "0",
             R"({"url": "https://example.com"})"}})
    );

    sql().run(fmt::format(
        R"(
SELECT pgflow.fail_task(
  run_id => '{}',
  step_slug => 'website',
  task_index => 0,
  error_message => 'Connection timeout when fetching URL'::text
);
)",
        run
    ));
    EXPECT_EQ(
        sql().rows("select status, attempts_count, error_message from pgflow.step_tasks"),
        (std::vector<Row>{{"queued", "1", "Connection timeout when fetching URL"}})
    );
    EXPECT_TRUE(take().empty()) << "it waits for its next attempt";
    store().wake(RunId(std::stol(sql().value("select run_id from pgflow.run_ids"))));
    EXPECT_EQ(take().size(), 1U);

    EXPECT_EQ(
        sql().rows(fmt::format(
            R"(
SELECT (pgflow.complete_task(
  run_id => '{}',
  step_slug => 'website',
  task_index => 0, -- we will have multiple tasks for a step in the future
  output => '{{"content": "HTML content", "status": 200}}'::jsonb
)).status;
)",
            run
        )),
        (std::vector<Row>{{"completed"}})
    );
    const std::string deps = R"({"website": {"status": 200, "content": "HTML content"}})";
    EXPECT_EQ(take(), (std::vector<Row>{{"sentiment", deps, ""}, {"summary", deps, ""}}));
    for (const char* step : {"sentiment", "summary"})
        sql().run(fmt::format("select pgflow.complete_task('{}', '{}', 0, '1')", run, step));
    EXPECT_EQ(take(), (std::vector<Row>{{"saveToDb", R"({"summary": 1, "sentiment": 1})", ""}}));
    sql().run(fmt::format("select pgflow.complete_task('{}', 'saveToDb', 0, '\"ok\"')", run));
    EXPECT_EQ(
        sql().rows("select status, output, remaining_steps from pgflow.runs"),
        (std::vector<Row>{{"completed", R"({"saveToDb": "ok"})", "0"}})
    );
    EXPECT_EQ(
        sql().rows("select distinct status from pgflow.step_states"),
        (std::vector<Row>{{"completed"}})
    );
}

TEST_P(PgflowTest, a_callers_uuid_names_the_run_and_goes_with_it) {
    define();
    const std::string uuid = "11111111-2222-4333-8444-555555555555";
    EXPECT_EQ(
        sql().value(
            "select pgflow.start_flow_with_states('analyze_website', '{}', '" + uuid +
            "') -> 'run' ->> 'run_id'"
        ),
        uuid
    );
    EXPECT_EQ(
        sql().value(
            "select jsonb_array_length(pgflow.get_run_with_states('" + uuid + "') -> 'steps')"
        ),
        "4"
    );
    EXPECT_ANY_THROW(sql().run("select pgflow.start_flow('analyze_website', '{}', '" + uuid + "')")
    );
    EXPECT_EQ(sql().value("select count(*) from pgflow.runs"), "1") << "nothing was started";
    sql().run("select pgflow.prune_data_older_than('0 seconds')");
    EXPECT_EQ(sql().value("select count(*) from pgflow.run_ids"), "1") << "it has not ended";
    sql().run("select pgflow.delete_flow_and_data('analyze_website')");
    EXPECT_EQ(sql().value("select count(*) from pgflow.run_ids"), "0");
}

TEST_P(PgflowTest, shapes_are_compiled_verified_and_compared) {
    const auto ensure = [&](const std::string& steps) {
        return sql().value(
            "select pgflow.ensure_flow_compiled('x', '{\"steps\":[" + steps + "]}')"
        );
    };
    const std::string a = R"({"slug":"a","stepType":"single","dependencies":[]})";
    const std::string m = R"({"slug":"m","stepType":"map","dependencies":["a"]})";
    EXPECT_EQ(ensure(a + "," + m), R"({"status": "compiled", "differences": []})");
    EXPECT_EQ(ensure(a + "," + m), R"({"status": "verified", "differences": []})");
    EXPECT_EQ(ensure(a), R"({"status": "mismatch", "differences": ["it has 2 steps, not 1"]})");
}

TEST_P(PgflowTest, a_role_without_access_to_these_names_uses_the_store_as_before) {
    const std::string role = fmt::format("pgflow_guest_{}", getpid());
    sql().run("create role " + role);
    sql().run("select " + place().schema() + ".grant_access('" + role + "', 'operator')");
    {
        const Store guest =
            connect(with_parameter(place().url(), "options=-crole%3D" + role), options());
        EXPECT_TRUE(guest.verify().ok());
        EXPECT_TRUE(guest.install().repaired.empty());
    }
    sql().run("drop owned by " + role);
    sql().run("drop role " + role);
}

TEST_P(PgflowTest, verify_checks_the_schema_and_install_restores_it) {
    EXPECT_TRUE(store().verify().ok());
    sql().run("drop function pgflow.fail_task(uuid, text, integer, text)");
    const auto problems = store().verify().problems;
    ASSERT_EQ(problems.size(), 1U);
    EXPECT_EQ(problems[0], "schema pgflow is not as pawl has created it");
    EXPECT_EQ(
        store().install().repaired,
        (std::vector<std::string>{"schema pgflow is not as pawl has created it: restored"})
    );
    EXPECT_TRUE(store().verify().ok());
    EXPECT_TRUE(store().install().repaired.empty());
}

TEST_P(PgflowTest, install_restores_constraints_of_its_tables) {
    const auto constraints = [&] {
        return sql().value(
            "select string_agg(conname, ' ' order by conname) from pg_constraint "
            "where connamespace = 'pgflow'::regnamespace and contype <> 'n'"
        );
    };
    const std::string all = constraints();
    sql().run(
        "alter table pgflow.run_ids drop constraint run_ids_run_id_fkey, "
        "drop constraint run_ids_run_id_key; "
        "alter table pgflow.installed drop constraint installed_only_row_check"
    );
    EXPECT_EQ(store().verify().problems.size(), 1U);
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_EQ(constraints(), all);
    EXPECT_TRUE(store().verify().ok());
    EXPECT_TRUE(store().install().repaired.empty());
}

TEST_P(PgflowTest, a_constraint_that_the_rows_violate_stays_a_problem) {
    sql().run("alter table pgflow.run_ids drop constraint run_ids_run_id_fkey");
    sql().run("insert into pgflow.run_ids (run_id) values (1000)");
    for (int i = 0; i < 2; ++i) {
        const auto report = store().install();
        EXPECT_TRUE(report.repaired.empty());
        EXPECT_EQ(
            report.problems,
            (std::vector<std::string>{"schema pgflow is not as pawl has created it: cannot be "
                                      "restored: change it back by hand"})
        );
    }
    EXPECT_FALSE(store().verify().ok());
    sql().run("delete from pgflow.run_ids");
    EXPECT_EQ(store().install().repaired.size(), 1U);
    EXPECT_TRUE(store().verify().ok());
}

TEST_P(PgflowTest, a_flow_or_step_that_exists_is_returned_unchanged) {
    define();
    const auto flow = [&](const std::string& arguments) {
        return sql().rows(
            "select opt_max_attempts, opt_base_delay, opt_timeout from pgflow.create_flow(" +
            arguments + ")"
        );
    };
    const auto step = [&](const std::string& arguments) {
        return sql().rows(
            "select step_index, deps_count, opt_max_attempts, opt_timeout, opt_start_delay "
            "from pgflow.add_step(" +
            arguments + ")"
        );
    };
    const auto before = flow("'analyze_website'");
    EXPECT_EQ(flow("'analyze_website', max_attempts => 7, base_delay => 8, timeout => 9"), before);
    EXPECT_EQ(
        step("'analyze_website', 'summary', max_attempts => 7, timeout => 9, start_delay => 3"),
        (std::vector<Row>{{"2", "1", "", "", "0"}})
    );
    // Options of a flow, and of a step that overrides them.
    EXPECT_EQ(
        flow("'retrying', max_attempts => 4, base_delay => 10, timeout => 120"),
        (std::vector<Row>{{"4", "10", "120"}})
    );
    EXPECT_EQ(
        step("'retrying', 'slow', max_attempts => 2, base_delay => 3, timeout => 30"),
        (std::vector<Row>{{"0", "0", "2", "30", "0"}})
    );
    EXPECT_EQ(sql().value("select count(*) from pgflow.steps"), "5");
}

TEST_P(PgflowTest, pruning_continues_behind_runs_that_must_stay) {
    sql().run(
        "select pgflow.create_flow('f'); select pgflow.add_step('f', 'a'); "
        "set search_path = " +
        place().schema() +
        "; select start_flows(array_fill('f'::text, array[1101]), "
        "array_fill('1'::json, array[1101])); "
        "update runs set status = 'SUCCESS', completed_at = clock() - interval '1 day'; "
        // The first ones have a live caller, one of them was deleted.
        "select create_workflow('caller'); select trigger_batch(array['caller'], array['1']); "
        "update runs set parent_run_id = (select max(run_id) from runs) where run_id <= ("
        "select min(run_id) + 999 from runs where remaining_steps is not null) "
        "and remaining_steps is not null; "
        "update runs set deleted_at = clock() where run_id = ("
        "select max(run_id) from runs where remaining_steps is not null)"
    );
    sql().run("select pgflow.prune_data_older_than('1 hour')");
    EXPECT_EQ(sql().value("select count(*) from runs where remaining_steps is not null"), "1001");
}

TEST_P(PgflowTest, a_schema_that_pawl_did_not_create_is_not_changed) {
    sql().run("drop schema pgflow cascade; create schema pgflow; create table pgflow.flows (a int)"
    );
    const Error error = error_of([&] { store().install(Compat::pgflow); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "was not created by pawl"));
    EXPECT_TRUE(store().verify().ok());
}

}  // namespace
}  // namespace pawl::test
