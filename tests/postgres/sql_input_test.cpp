// Mistakes of callers in other languages are refused on arrival and affect no other data. The C++
// library checks before it sends.
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
    // The SQLSTATE and the message of its error, "PW003 ..."; "" without an error.
    [[nodiscard]] std::string refusal(const std::string& call) const {
        sql_->run(fmt::format(
            "create or replace function pg_temp.refusal() returns text language plpgsql as $why$ "
            "begin perform {}; return ''; exception when others then return sqlstate || ' ' || "
            "sqlerrm; end $why$",
            call
        ));
        return sql_->value("select pg_temp.refusal()");
    }
    // One step, 'a', with one attempt.
    void make_flow(const std::string& slug = "flow") const {
        sql_->run(fmt::format(
            "select create_flow('{0}', max_attempts => 1); select add_step('{0}', 'a')", slug
        ));
    }
    // The only due task: message and run.
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

TEST_P(SqlInputTest, an_input_that_is_not_json_starts_no_flow) {
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
    // Not even one that a poll could no longer insert into the task's input.
    EXPECT_TRUE(contains(
        refusal(with_second("repeat('[', 100000) || repeat(']', 100000)")),
        "PW003 inputs[2] is not JSON: stack depth"
    ));
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
    EXPECT_EQ(refusal(with_second("'\"' || repeat('x', 10000) || '\"'")), "");
    EXPECT_EQ(poll_task()[2], R"({"run":1})");
}

TEST_P(SqlInputTest, a_schedule_does_not_keep_params_that_are_not_json) {
    make_flow();
    EXPECT_TRUE(contains(
        refusal(
            "save_schedule(null, null, 'nightly', 'flow', '0 3 * * *', 'UTC', 'not json', null, "
            "null, 0, 0, 'allow', 'none', 1, false, clock(), null)"
        ),
        "PW003 params[1] is not JSON"
    ));
}

TEST_P(SqlInputTest, an_output_that_is_not_json_completes_nothing_and_does_not_affect_other_tasks) {
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

// Stored by an earlier version.
TEST_P(SqlInputTest, a_run_with_a_bad_input_still_reaches_a_flow_for_dead_letters) {
    make_flow();
    sql().run(
        "select create_workflow('job', dead_letter_workflow => 'flow'); "
        "select trigger_batch(array['job'], array['1']); update runs set input = 'not json'"
    );
    const std::string run = sql().value(
        "select message_id from claim_runs(workflow_ids(array['job']), 1) where message_id > 0"
    );
    EXPECT_EQ(
        sql().value(
            "select outcomes from finish_runs(array[" + run +
            "], array[1], array[null], array['\"none\"'])"
        ),
        "{done}"
    );
    EXPECT_TRUE(contains(poll_task()[2], R"("input":"not json","error":"none")"));
}

TEST_P(SqlInputTest, values_out_of_bounds_are_refused_with_the_bounds_and_change_nothing) {
    make_flow();
    sql().run("select create_workflow('job'); select create_queue('work')");
    const std::string priority = "PW003 priority must be -1000000 to 1000000";
    const std::string delay = "PW003 delay_ms must be 0 to 3162240000000 (100 years)";
    const std::string attempts = "PW003 max_attempts must be 1 to 1000000";
    const std::string at = "PW003 at must lie between the years 1970 and 9999";
    for (const std::string call : {"trigger('job', '1', ", "start_flow('flow', '1', "}) {
        const std::string mine = place().schema() + "." + call;
        EXPECT_EQ(refusal(mine + "priority => 99999999)"), priority);
        EXPECT_EQ(refusal(mine + "priority => -1000001)"), priority);
        EXPECT_EQ(refusal(mine + "delay_ms => -5)"), delay);
        EXPECT_EQ(refusal(mine + "delay_ms => 9223372036854775807)"), delay);
        EXPECT_EQ(refusal(mine + "at => 'infinity')"), at);
        EXPECT_EQ(refusal(mine + "max_attempts => 0)"), attempts);
        EXPECT_EQ(
            refusal(mine + "idempotency_key => '')"),
            "PW003 an idempotency key must be 1 to 512 bytes of UTF-8"
        );
        EXPECT_EQ(
            refusal(mine + "tags => array['x', null])"),
            "PW003 a tag must be 1 to 255 bytes of UTF-8"
        );
    }
    EXPECT_EQ(refusal("enqueue('work', '1', priority => 99999999)"), priority);
    EXPECT_EQ(refusal("enqueue('work', '1', delay_ms => -5)"), delay);
    EXPECT_EQ(refusal("enqueue('work', '1', delay_ms => 9223372036854775807)"), delay);
    EXPECT_EQ(
        refusal("enqueue('work', null)"), "PW003 a payload is null; pass the JSON value null"
    );
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

TEST_P(SqlInputTest, batches_of_arrays_that_do_not_fit_together_are_refused) {
    sql().run("select create_workflow('job'); select create_queue('work')");
    const std::string aligned = "PW003 an array has more elements than the batch has items (1)";
    EXPECT_EQ(refusal("trigger_batch(array['job'], array['1'], array[1, 2])"), aligned);
    EXPECT_EQ(refusal("enqueue_batch('work', array['1']::json[], array[1, 2])"), aligned);
    EXPECT_EQ(
        refusal("publish_batch(array['t'], array['1'], array['a', 'b'])"),
        "PW003 an event's type must be 1 to 255 bytes of UTF-8"
    );
    EXPECT_EQ(
        refusal("trigger_batch(array['job', 'job'], array['1'])"),
        "PW003 inputs and workflows must have the same number of elements"
    );
    EXPECT_EQ(
        refusal("trigger_batch(array['job'], array[null])"),
        "PW003 an input is null; pass the text 'null'"
    );
    EXPECT_EQ(
        refusal("trigger_batch(array['job'], array['1'], tag_places => array[2], tags => "
                "array['x'])"),
        "PW003 tag_places must have one element, 1 to 1, for each element of tags"
    );
    EXPECT_EQ(refusal("trigger_batch('{}', '{}')"), "");
    EXPECT_EQ(sql().number("select count(*) from runs"), 0);
}

TEST_P(SqlInputTest, no_tags_may_be_said_with_a_null) {
    make_flow();
    sql().run("select create_workflow('job')");
    EXPECT_EQ(refusal(place().schema() + ".trigger('job', tags => null)"), "");
    EXPECT_EQ(refusal("start_flow('flow', tags => null)"), "");
    EXPECT_EQ(sql().number("select count(*) from runs"), 2);
}

TEST_P(SqlInputTest, options_out_of_bounds_are_refused_with_the_bounds) {
    const std::string lease = "PW003 lease_ms must be 1 to 3162240000000, not ";
    EXPECT_EQ(refusal("create_queue('q', lease_ms => -1)"), lease + "-1");
    EXPECT_EQ(
        refusal("create_queue('q', max_strikes => 0)"), "PW003 max_strikes must be 1 to 1000, not 0"
    );
    EXPECT_EQ(
        refusal("create_queue('q', max_attempts => -1)"),
        "PW003 max_attempts must be 0 to 1000000, not -1"
    );
    EXPECT_EQ(refusal("create_workflow('w', lease_ms => 0)"), lease + "0");
    EXPECT_EQ(
        refusal("create_workflow('w', max_attempts => 0)"),
        "PW003 max_attempts must be 1 to 1000000, not 0"
    );
    for (const std::string time : {"backoff_base_ms", "backoff_cap_ms", "run_timeout_ms"})
        EXPECT_EQ(
            refusal("create_workflow('w', " + time + " => -1)"),
            "PW003 " + time + " must be 0 to 3162240000000, not -1"
        );
    EXPECT_EQ(
        refusal("create_workflow('w', audit => 'x')"),
        "PW003 audit: unknown value 'x'; use off, exceptions, all"
    );
    EXPECT_EQ(
        refusal("create_workflow('w', publish => 'x')"),
        "PW003 publish: unknown value 'x'; use off, alerts, ends"
    );
    EXPECT_EQ(sql().number("select count(*) from queues"), 0);
}

}  // namespace
}  // namespace pawl::test
