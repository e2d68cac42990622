// What callers in other languages may get wrong: it is refused where it comes in, and harms nobody
// else. The C++ library checks before it sends.
#include <fmt/format.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class SqlInputTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        sql_ = database();
        sql_->run("set search_path = " + place().schema());
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    // "PW003 ...": the state and the words of its error, "" where there is none.
    [[nodiscard]] std::string refusal(const std::string& call) const {
        sql_->run(fmt::format(
            "create or replace function pg_temp.refusal() returns text language plpgsql as $why$ "
            "begin perform {}; return ''; exception when others then return sqlstate || ' ' || "
            "sqlerrm; end $why$",
            call
        ));
        return sql_->value("select pg_temp.refusal()");
    }
    // One step, 'a', one attempt.
    void make_flow(const std::string& slug = "flow") const {
        sql_->run(fmt::format(
            "select create_flow('{0}', max_attempts => 1); select add_step('{0}', 'a')", slug
        ));
    }
    // The one task that is due: message and run.
    [[nodiscard]] Row poll_task(const std::string& slug = "flow") const {
        const auto tasks = sql_->rows(
            fmt::format("select msg_id, run_id, input from poll_for_tasks('{}', 30, 1)", slug)
        );
        return tasks.empty() ? Row{"0", "0", ""} : tasks.front();
    }
    [[nodiscard]] std::string status(const std::string& run) const {
        return sql_->value("select status from get_run(" + run + ")");
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(, SqlInputTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(SqlInputTest, an_input_that_is_no_json_starts_no_flow) {
    make_flow();
    const auto with_second = [](const std::string& input) {
        return "trigger_batch(array['flow', 'flow'], array['1', " + input + "])";
    };
    EXPECT_EQ(
        refusal(with_second("'not json'")),
        "PW003 inputs[2] is not JSON: invalid input syntax for type json"
    );
    EXPECT_TRUE(contains(refusal(with_second("''")), "PW003 inputs[2] is not JSON"));
    EXPECT_TRUE(contains(refusal(with_second("'1],[2'")), "PW003 inputs[2] is not JSON"));
    // Not even one that a poll could not put into the task's input any more.
    EXPECT_TRUE(contains(
        refusal(with_second("repeat('[', 100000) || repeat(']', 100000)")),
        "PW003 inputs[2] is not JSON: stack depth"
    ));
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
    EXPECT_EQ(refusal(with_second("'\"' || repeat('x', 10000) || '\"'")), "");
    EXPECT_EQ(poll_task()[2], R"({"run":1})");
}

TEST_P(SqlInputTest, a_schedule_does_not_keep_params_that_are_no_json) {
    make_flow();
    EXPECT_TRUE(contains(
        refusal(
            "save_schedule(null, null, 'nightly', 'flow', '0 3 * * *', 'UTC', 'not json', null, "
            "null, 0, 0, 'allow', 'none', 1, false, clock(), null)"
        ),
        "PW003 params[1] is not JSON"
    ));
}

TEST_P(SqlInputTest, an_output_that_is_no_json_completes_nothing_and_harms_no_other_task) {
    make_flow();
    const auto runs = sql().rows(
        "select unnest(run_ids) from trigger_batch(array['flow', 'flow', "
        "'flow'], array['1', '2', '3'])"
    );
    const auto tasks = sql().rows("select msg_id, run_id from poll_for_tasks('flow', 30, 10)");
    ASSERT_EQ(tasks.size(), 3U);
    const auto batch = [&](const std::string& outputs) {
        return sql().value(fmt::format(
            "select outcomes from complete_tasks(array[{}, {}, {}], array[1, 1, 1], array[{}, {}, "
            "{}], array['a', 'a', 'a'], array[0, 0, 0], array[{}])",
            tasks[0][0],
            tasks[1][0],
            tasks[2][0],
            tasks[0][1],
            tasks[1][1],
            tasks[2][1],
            outputs
        ));
    };
    EXPECT_EQ(batch("'1', 'not json', null"), "{done,invalid,done}");
    EXPECT_EQ(
        sql().rows("select status, output from flow_runs order by run_id"),
        (std::vector<Row>{{"SUCCESS", R"({"a":1})"}, {"RUNNING", ""}, {"SUCCESS", R"({"a":null})"}})
    );
    EXPECT_EQ(batch("'1', '2', '3'"), "{lease_lost,done,lease_lost}") << "the lease still held";
}

TEST_P(SqlInputTest, a_task_fails_when_the_run_that_it_waits_for_ends_with_what_is_no_json) {
    make_flow();
    sql().run("select create_workflow('job')");
    for (const std::string end : {"array['not json']", "array['null'], array['not json']"}) {
        const std::string run = sql().value("select run_id from start_flow('flow', '1')");
        const Row task = poll_task();
        EXPECT_EQ(
            sql().value(fmt::format(
                "select outcomes from delegate_tasks(array[{}], array[1], array[{}], array['a'], "
                "array[0], array['job'], array['1'], idempotency_keys => array['of {}'])",
                task[0],
                task[1],
                task[1]
            )),
            "{done}"
        );
        const std::string child = sql().value(
            "select message_id from claim_runs(workflow_ids(array['job']), 1) where message_id > 0"
        );
        EXPECT_EQ(
            sql().value(
                fmt::format("select outcomes from finish_runs(array[{}], array[1], {})", child, end)
            ),
            "{done}"
        );
        EXPECT_EQ(status(run), "ERROR");
        EXPECT_TRUE(
            contains(
                sql().value("select error_message from list_tasks(" + run + ")"), "not json"
            ) ||
            contains(
                sql().value("select error_message from list_tasks(" + run + ")"),
                "ended as SUCCESS: its output is not JSON"
            )
        );
    }
}

TEST_P(SqlInputTest, a_run_with_a_bad_input_and_error_still_reaches_a_flow_for_dead_letters) {
    make_flow();
    sql().run(
        "select create_workflow('job', dead_letter_workflow => 'flow'); "
        "select trigger_batch(array['job'], array['not json'])"
    );
    const std::string run = sql().value(
        "select message_id from claim_runs(workflow_ids(array['job']), 1) where message_id > 0"
    );
    EXPECT_EQ(
        sql().value(
            "select outcomes from finish_runs(array[" + run +
            "], array[1], array[null], "
            "array['neither'])"
        ),
        "{done}"
    );
    EXPECT_TRUE(contains(poll_task()[2], R"("input":"not json","error":"neither")"));
}

}  // namespace
}  // namespace pawl::test
