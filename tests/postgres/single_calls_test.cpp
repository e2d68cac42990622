// Single triggers, steps and ends use shorter functions in SQL: trigger_one, record_step,
// finish_run. Their effects are those of the batch functions.
#include "support/race_test.h"

namespace pawl::test {
namespace {

class SingleCallsTest : public RaceTest {
protected:
    void SetUp() override {
        RaceTest::SetUp();
        sql().run("select create_workflow('job')");
    }
    [[nodiscard]] std::string trigger(const std::string& more = "") const {
        return sql().value("select run_id from trigger_one('job', '1'" + more + ")");
    }
    [[nodiscard]] std::string claimed() const {
        std::string run = trigger();
        claim();
        return run;
    }
    void claim() const {
        sql().run("select count(*) from claim_runs(workflow_ids(array['job']), 10, 1000, 7)");
    }
    [[nodiscard]] std::string record(const std::string& run, const std::string& rest) const {
        return sql().value("select record_step(" + run + ", " + rest + ")");
    }
    [[nodiscard]] std::string finish(const std::string& run, const std::string& rest) const {
        return sql().value("select outcome from finish_run(" + run + ", " + rest + ")");
    }
    [[nodiscard]] std::string step(const std::string& run) const {
        return sql().value(
            "select format('%s %s %s %s %s', status, attempt, delivery, output, worker_id) from "
            "list_steps(" +
            run + ")"
        );
    }
    [[nodiscard]] std::string refusal(const std::string& query) const {
        try {
            return "not refused: " + sql().value(query);
        } catch (const std::exception& error) {
            return error.what();
        }
    }
};
INSTANTIATE_TEST_SUITE_P(, SingleCallsTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(SingleCallsTest, one_run_is_created_like_a_run_of_a_batch) {
    const std::string one = trigger(", 5, 2, 77");
    const std::string many = sql().value(
        "select run_ids[1] from trigger_batch(array['job'], array['1'], array[5], max_attempts => "
        "array[2], "
        "parent_run_ids => array[77])"
    );
    const auto rows_of = [&](const std::string& run) {
        return sql().rows(
            "select r.workflow_id, r.status, r.priority, r.max_attempts, r.parent_run_id, "
            "r.created_at, r.updated_at, "
            "r.input, m.queue_id, m.priority, m.state, m.visible_at, m.enqueued_at, m.payload, "
            "m.delivery "
            "from runs r join messages m on m.message_id = r.run_id where r.run_id = " +
            run
        );
    };
    ASSERT_EQ(rows_of(one).size(), 1U);
    EXPECT_EQ(rows_of(one), rows_of(many));
}

TEST_P(SingleCallsTest, one_run_of_a_flow_starts_the_flow) {
    sql().run("select create_flow('diamond'); select add_step('diamond', 'top')");
    const std::string run = sql().value("select run_id from trigger_one('diamond', '{}')");
    EXPECT_EQ(sql().value("select count(*) from list_tasks(" + run + ")"), "1");
}

TEST_P(SingleCallsTest, an_invalid_single_run_has_the_message_of_a_batch) {
    EXPECT_TRUE(contains(
        refusal("select run_id from trigger_one('nowhere', '1')"), "'nowhere' does not exist"
    ));
    EXPECT_TRUE(
        contains(refusal("select run_id from trigger_one('job', '1', 2000000)"), "priority must be")
    );
    EXPECT_TRUE(contains(
        refusal("select run_id from trigger_one('job', '1', 0, 0)"), "max_attempts must be"
    ));
    EXPECT_TRUE(contains(refusal("select run_id from trigger_one('job', null)"), "an input is null")
    );
    EXPECT_EQ(sql().value("select count(*) from runs"), "0");
}

TEST_P(SingleCallsTest, one_run_of_a_workflow_that_is_deleted_in_the_meantime_is_refused) {
    const auto deleter = begin("select delete_workflow('job')");
    auto answer = waits("select run_id from trigger_one('job', '1')");
    deleter->run("commit");
    EXPECT_TRUE(contains(answer.get(), "'job' does not exist"));
    EXPECT_EQ(sql().value("select count(*) from messages"), "0");
}

TEST_P(SingleCallsTest, a_transaction_with_an_old_snapshot_triggers_nothing_into_what_is_gone) {
    const auto old =
        begin("set transaction isolation level repeatable read; select count(*) from runs");
    sql().run("select delete_workflow('job')");
    EXPECT_ANY_THROW(old->run("select run_id from trigger_one('job', '1')"));
    EXPECT_EQ(sql().value("select count(*) from runs"), "0");
}

TEST_P(SingleCallsTest, trigger_takes_the_short_way_only_without_other_options) {
    const std::string delayed = sql().value("select trigger('job', '1', delay_ms => 1000)");
    const std::string keyed =
        sql().value("select trigger('job', '1', idempotency_key => 'k', tags => array['t'])");
    const std::string plain = sql().value("select trigger('job', '{\"a\":1}', priority => 3)");
    EXPECT_EQ(sql().value("select state from messages where message_id = " + delayed), "waiting");
    EXPECT_EQ(sql().value("select trigger('job', '2', idempotency_key => 'k')"), keyed);
    EXPECT_EQ(sql().value("select tags from get_run(" + keyed + ")"), "{t}");
    EXPECT_EQ(
        sql().value("select priority || input from runs where run_id = " + plain), "3{\"a\":1}"
    );
}

TEST_P(SingleCallsTest, a_step_is_recorded_under_the_fence) {
    const std::string run = claimed();
    EXPECT_EQ(record(run, "1, 'pay', 1, 'SUCCESS', 1, output => '24'"), "done");
    EXPECT_EQ(step(run), "SUCCESS 1 1 24 7");
    EXPECT_EQ(record(run, "2, 'ship', 2, 'SUCCESS', 1, output => '1'"), "lease_lost");
    sql().run("select cancel(" + run + ")");
    EXPECT_EQ(record(run, "1, 'ship', 2, 'SUCCESS', 1, output => '1'"), "cancelled");
    EXPECT_EQ(step(run), "SUCCESS 1 1 24 7");
}

TEST_P(SingleCallsTest, a_recorded_step_keeps_its_result_and_one_that_ran_gets_one) {
    const std::string run = claimed();
    EXPECT_EQ(record(run, "1, 'pay', 1, 'RUNNING', 1"), "done");
    EXPECT_EQ(record(run, "1, 'pay', 1, 'SUCCESS', 1, output => '24'"), "done");
    EXPECT_EQ(record(run, "1, 'pay', 1, 'SUCCESS', 1, output => '25'"), "done");
    EXPECT_EQ(step(run), "SUCCESS 1 1 24 7");
}

TEST_P(SingleCallsTest, a_locked_row_is_busy_and_nothing_is_written) {
    const std::string run = claimed();
    const auto other = begin("select from messages for update");
    EXPECT_EQ(record(run, "1, 'pay', 1, 'SUCCESS', 1, output => '24'"), "busy");
    EXPECT_EQ(finish(run, "1, '24'"), "busy");
    other->run("rollback");
    EXPECT_EQ(status(run), "RUNNING");
    EXPECT_EQ(sql().value("select count(*) from steps"), "0");
}

TEST_P(SingleCallsTest, a_run_is_ended_under_the_fence) {
    const std::string run = claimed();
    EXPECT_EQ(finish(run, "2, '24'"), "lease_lost");
    EXPECT_EQ(status(run), "RUNNING");
    EXPECT_EQ(finish(run, "1, '24'"), "done");
    EXPECT_EQ(
        sql().value("select format('%s %s %s %s', status, output, delivery, worker_id) from runs"),
        "SUCCESS 24 1 7"
    );
    EXPECT_EQ(sql().value("select count(*) from messages"), "0");
    EXPECT_EQ(finish(run, "1, '25'"), "lease_lost");
    EXPECT_EQ(finish(run, "1, '24', repeated => true"), "done");
}

TEST_P(SingleCallsTest, a_run_with_waiters_is_returned_at_its_end) {
    const std::string awaited = claimed();
    const std::string other = claimed();
    sql().run("select await_run(" + awaited + ")");
    EXPECT_EQ(
        sql().value("select coalesce(awaited, 0) from finish_run(" + other + ", 1, '1')"), "0"
    );
    EXPECT_EQ(sql().value("select awaited from finish_run(" + awaited + ", 1, '1')"), awaited);
    EXPECT_EQ(sql().value("select count(*) from awaited_runs"), "0");
}

TEST_P(SingleCallsTest, the_end_of_a_run_is_published_if_its_workflow_publishes_ends) {
    sql().run("select create_workflow('job', publish => 'ends')");
    EXPECT_EQ(finish(claimed(), "1, '24'"), "done");
    EXPECT_EQ(sql().value("select count(*) from outbox"), "1");
}

}  // namespace
}  // namespace pawl::test
