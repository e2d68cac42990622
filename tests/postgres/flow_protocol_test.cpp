// Flows in plain SQL, for any language. Behaviour that both stores share is tested in
// tests/store/flows.
#include <fmt/format.h>
#include <thread>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class FlowProtocolTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        sql_ = database();
        sql_->run("set search_path = " + place().schema());
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] std::unique_ptr<Database> another() const {
        auto other = database();
        other->run("set search_path = " + place().schema());
        return other;
    }
    // The database's message with the SQLSTATE: "PW003 ...".
    [[nodiscard]] std::string why(const std::string& call) const {
        sql_->run(fmt::format(
            "create or replace function pg_temp.why() returns text language plpgsql as $why$ begin "
            "perform {}; return ''; exception when others then return sqlstate || ' ' || sqlerrm; "
            "end $why$",
            call
        ));
        return sql_->value("select pg_temp.why()");
    }
    // a -> b, a -> c, {b, c} -> d.
    void make_diamond(const std::string& slug = "flow") const {
        sql_->run(fmt::format(
            "select create_flow('{0}'); select add_step('{0}', 'a'); "
            "select add_step('{0}', 'b', array['a']); select add_step('{0}', 'c', deps => "
            "array['a']); select add_step('{0}', 'd', array['b', 'c', 'b'])",
            slug
        ));
    }
    [[nodiscard]] std::string start_run(
        const std::string& slug = "flow", const std::string& input = "null"
    ) const {
        return sql_->value(fmt::format("select run_id from start_flow('{}', '{}')", slug, input));
    }
    [[nodiscard]] std::string report(const std::string& call) const {
        return sql_->value("select " + call);
    }
    // Polls once and completes the tasks.
    [[nodiscard]] std::size_t work(const std::string& slug = "flow") const {
        return sql_
            ->rows(fmt::format(
                "select complete_task(run_id, step_slug, task_index, to_json(step_slug), delivery) "
                "from poll_for_tasks('{}', 30, 100)",
                slug
            ))
            .size();
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(
    , FlowProtocolTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(FlowProtocolTest, a_flow_is_declared_started_and_worked_in_sql) {
    make_diamond();
    EXPECT_EQ(
        sql().rows("select flow_slug, status, input, output, remaining_steps "
                   "from start_flow('flow', '{\"n\": 1}')"),
        (std::vector<Row>{{"flow", "QUEUED", R"({"n": 1})", "", "4"}})
    );
    auto tasks = sql().rows(
        "select flow_slug, step_slug, task_index, input, attempts, delivery "
        "from poll_for_tasks('flow', 30, 5)"
    );
    EXPECT_EQ(tasks, (std::vector<Row>{{"flow", "a", "0", R"({"run":{"n": 1}})", "1", "1"}}));
    const std::string run = sql().value("select run_id from flow_runs");
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '[1]', 1)"), "done");
    tasks = sql().rows("select step_slug, input from poll_for_tasks('flow', 30, 5)");
    EXPECT_EQ(
        tasks,
        (std::vector<Row>{
            {"b", R"({"run":{"n": 1},"a":[1]})"}, {"c", R"({"run":{"n": 1},"a":[1]})"}})
    );
    EXPECT_EQ(report("complete_task(" + run + ", 'b', 0, '2')"), "done");
    EXPECT_EQ(work(), 0U) << "one of two dependencies is done";
    EXPECT_EQ(report("complete_task(" + run + ", 'c', 0, null)"), "done");
    EXPECT_EQ(
        sql().value("select input from poll_for_tasks('flow', 30, 5)"),
        R"({"run":{"n": 1},"b":2,"c":null})"
    );
    EXPECT_EQ(report("complete_task(" + run + ", 'd', 0, '\"end\"')"), "done");
    EXPECT_EQ(
        sql().rows("select status, output, remaining_steps from flow_runs"),
        (std::vector<Row>{{"SUCCESS", R"({"d":"end"})", "0"}})
    );
    EXPECT_EQ(sql().number("select count(*) from messages"), 0);
}

TEST_P(FlowProtocolTest, dependents_can_be_claimed_by_the_transaction_that_made_them_ready) {
    make_diamond();
    sql().run("begin");
    const std::string run = start_run();
    EXPECT_EQ(work(), 1U);
    EXPECT_EQ(work(), 2U);
    EXPECT_EQ(work(), 1U);
    EXPECT_EQ(sql().value("select status from get_run(" + run + ")"), "SUCCESS");
    EXPECT_EQ(another()->number("select count(*) from runs"), 0);
    sql().run("commit");
    EXPECT_EQ(another()->number("select count(*) from runs where status = 'SUCCESS'"), 1);
}

TEST_P(FlowProtocolTest, late_repeated_and_unknown_reports_change_nothing_and_say_so) {
    make_diamond();
    const std::string run = start_run();
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '1')"), "not_running");
    EXPECT_EQ(report("complete_task(" + run + ", 'b', 0, '1')"), "unknown_task");
    EXPECT_EQ(report("complete_task(" + run + ", 'nope', 0, '1')"), "unknown_task");
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 7, '1')"), "unknown_task");
    EXPECT_EQ(report("fail_task(999999, 'a', 0, 'x')"), "unknown_task");
    EXPECT_EQ(report("fail_task(null, null, null, null)"), "unknown_task");
    (void)sql().rows("select * from poll_for_tasks('flow', 30, 1)");
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '1', 2)"), "lease_lost");
    EXPECT_EQ(report("fail_task(" + run + ", 'a', 0, 'x', 2)"), "lease_lost");
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '1', 1)"), "done");
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '2', 1)"), "finished");
    EXPECT_EQ(report("fail_task(" + run + ", 'a', 0, 'x')"), "finished");
    EXPECT_EQ(sql().value("select output from step_states where step_slug = 'a'"), "1");
    sql().run("select cancel(" + run + ")");
    EXPECT_EQ(report("complete_task(" + run + ", 'b', 0, '1')"), "cancelled");
}

TEST_P(FlowProtocolTest, a_completion_after_a_takeover_is_fenced_by_its_delivery) {
    freeze();
    make_diamond();
    const std::string run = start_run();
    EXPECT_EQ(sql().value("select delivery from poll_for_tasks('flow', 30, 1)"), "1");
    advance(62s);
    EXPECT_EQ(
        sql().rows("select delivery, attempts from poll_for_tasks('flow', 30, 1)"),
        (std::vector<Row>{{"2", "2"}})
    );
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '1', 1)"), "lease_lost");
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '2', 2)"), "done");
    EXPECT_EQ(sql().value("select output from step_states where step_slug = 'a'"), "2");
}

TEST_P(FlowProtocolTest, two_phases_read_messages_and_start_those_still_queued) {
    freeze();
    sql().run(
        "select create_flow('flow', timeout => 5); select add_step('flow', 'a'); "
        "select add_step('flow', 'b'); select add_step('flow', 'c', timeout => 0)"
    );
    const std::string run = start_run();
    const auto read = sql().rows(
        "select msg_id, read_ct, vt, message from "
        "read_with_poll('flow', 30, 10, 0)"
    );
    ASSERT_EQ(read.size(), 3U);
    EXPECT_EQ(
        read[1][3],
        fmt::format(R"({{"flow_slug":"flow","run_id":{},"step_slug":"b","task_index":0}})", run)
    );
    EXPECT_EQ(sql().value("select status from get_run(" + run + ")"), "QUEUED");
    const auto start_tasks = [&](const std::string& ids) {
        return sql().rows(
            "select step_slug, attempts, delivery, input from start_tasks('flow', array[" + ids +
            "]::bigint[], 7)"
        );
    };
    const std::string a = read[0][0];
    const std::string b = read[1][0];
    EXPECT_EQ(
        start_tasks(a + ", 424242, " + a), (std::vector<Row>{{"a", "1", "1", R"({"run":null})"}})
    );
    EXPECT_EQ(start_tasks(a), std::vector<Row>{}) << "it runs already";
    EXPECT_EQ(start_tasks(a + "," + b).size(), 1U);
    EXPECT_EQ(start_tasks(""), std::vector<Row>{});
    EXPECT_EQ(
        sql().rows("select status, worker_id from get_run(" + run + ")"),
        (std::vector<Row>{{"RUNNING", "7"}})
    );
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '1', 1)"), "done");
    EXPECT_EQ(report("fail_task(" + run + ", 'b', 0, 'once more', 1)"), "done");
    EXPECT_EQ(start_tasks(b), std::vector<Row>{}) << "it waits for its next attempt";
    advance(10s);
    EXPECT_EQ(sql().value("select msg_id from read_with_poll('flow', 30, 10, 0)"), b)
        << "one message over all attempts";
    EXPECT_EQ(start_tasks(b), (std::vector<Row>{{"b", "2", "2", R"({"run":null})"}}));
}

TEST_P(FlowProtocolTest, tasks_that_were_not_read_are_leased_by_their_start) {
    freeze();
    sql().run(
        "select create_flow('flow', timeout => 5); select add_step('flow', 'a'); "
        "select add_step('flow', 'b', timeout => 0); select add_step('flow', 'later', start_delay "
        "=> 60)"
    );
    const std::string run = start_run();
    const auto start_tasks = [&] {
        return sql().rows(
            "select step_slug, attempts, delivery from start_tasks('flow', array(select message_id "
            "from messages), 7)"
        );
    };
    sql().run("select pause_queue('flow')");
    EXPECT_EQ(start_tasks(), std::vector<Row>{}) << "as a claim of a paused queue";
    sql().run("select pause_queue('flow', false)");
    EXPECT_EQ(start_tasks(), (std::vector<Row>{{"a", "1", "1"}, {"b", "1", "1"}}));
    EXPECT_EQ(
        sql().rows("select state, visible_at - clock() from messages order by message_id"),
        (std::vector<Row>{{"leased", "00:00:07"}, {"leased", "00:00:30"}, {"waiting", "00:01:00"}})
    );
    EXPECT_EQ(start_tasks(), std::vector<Row>{}) << "they run already";
    EXPECT_EQ(sql().rows("select * from poll_for_tasks('flow', 30, 10)"), std::vector<Row>{});
    EXPECT_EQ(report("fail_task(" + run + ", 'a', 0, 'once more', 1)"), "done");
    EXPECT_EQ(start_tasks(), std::vector<Row>{}) << "it waits for its next attempt";
    advance(10s);
    EXPECT_EQ(start_tasks(), (std::vector<Row>{{"a", "2", "2"}}));
    EXPECT_EQ(report("complete_task(" + run + ", 'a', 0, '1', 2)"), "done");
    EXPECT_EQ(report("complete_task(" + run + ", 'b', 0, '1', 1)"), "done");
}

TEST_P(FlowProtocolTest, a_task_that_was_read_and_not_started_costs_no_attempt) {
    freeze();
    sql().run(
        "select create_flow('flow', max_attempts => 1, timeout => 0); "
        "select add_step('flow', 'a')"
    );
    const std::string run = start_run();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(sql().rows("select * from read_with_poll('flow', 10, 10, 0)").size(), 1U);
        advance(10s);
    }
    EXPECT_EQ(sql().value("select attempts from poll_for_tasks('flow', 10, 1)"), "1");
    advance(10s);
    EXPECT_EQ(sql().rows("select * from read_with_poll('flow', 10, 10, 0)").size(), 0U);
    EXPECT_EQ(
        sql().rows(
            "select status, failed_at is not null, error_message from list_tasks(" + run + ")"
        ),
        (std::vector<Row>{{"ERROR", "t", "no report within its lease (attempt 1)"}})
    );
    EXPECT_EQ(sql().value("select status from get_run(" + run + ")"), "ERROR");
}

TEST_P(FlowProtocolTest, plain_queues_can_be_read_with_a_poll_too) {
    sql().run("select create_queue('work')");
    const std::string id = sql().value("select enqueue('work', '{\"n\": 1}')");
    EXPECT_EQ(
        sql().rows("select msg_id, read_ct, message from read_with_poll('work', 30, 5, 0)"),
        (std::vector<Row>{{id, "1", R"({"n": 1})"}})
    );
    EXPECT_EQ(sql().rows("select * from read_with_poll('work', 30, 5, 0.01, 5)").size(), 0U);
}

TEST_P(FlowProtocolTest, a_long_poll_sees_tasks_that_are_committed_during_it) {
    make_diamond();
    auto poller = another();
    std::jthread producer([&] { (void)start_run(); });
    EXPECT_EQ(poller->value("select step_slug from poll_for_tasks('flow', 30, 5, 40, 10)"), "a");
}

// Each holds its row of the run when the other arrives: the second one waits, and starts the join.
TEST_P(FlowProtocolTest, two_completions_of_a_join_start_it_once) {
    make_diamond();
    const std::string run = start_run();
    EXPECT_EQ(work(), 1U);
    EXPECT_EQ(sql().rows("select * from poll_for_tasks('flow', 30, 5)").size(), 2U);
    auto other = another();
    sql().run("begin");
    EXPECT_EQ(report("complete_task(" + run + ", 'b', 0, '1', 1)"), "done");
    std::jthread second([&] {
        EXPECT_EQ(other->value("select complete_task(" + run + ", 'c', 0, '2', 1)"), "done");
    });
    auto watcher = another();
    while (watcher->number("select count(*) from pg_locks where not granted") == 0)
        std::this_thread::yield();
    EXPECT_EQ(watcher->number("select count(*) from tasks where step_index = 3"), 0);
    sql().run("commit");
    second.join();
    EXPECT_EQ(watcher->number("select count(*) from tasks where step_index = 3"), 1);
    EXPECT_EQ(work(), 1U);
    EXPECT_EQ(sql().value("select output from flow_runs"), R"({"d":"d"})");
}

// A worker's batch never waits: locked items are busy, and the others are done.
TEST_P(FlowProtocolTest, a_batch_skips_locked_runs) {
    make_diamond();
    const std::string first = start_run();
    const std::string second = start_run();
    const auto tasks = sql().rows("select msg_id, run_id from poll_for_tasks('flow', 30, 5)");
    ASSERT_EQ(tasks.size(), 2U);
    auto other = another();
    other->run("begin");
    other->run("select from runs where run_id = " + first + " for update");
    const std::string batch = fmt::format(
        "complete_tasks(array[{}, {}], array[1, 1], array[{}, {}], array['a', 'a'], array[0, 0], "
        "array['1', '2'])",
        tasks[0][0],
        tasks[1][0],
        first,
        second
    );
    EXPECT_EQ(sql().value("select outcomes from " + batch), "{busy,done}");
    other->run("rollback");
    EXPECT_EQ(sql().value("select outcomes from " + batch), "{done,lease_lost}");
}

TEST_P(FlowProtocolTest, a_batch_does_not_fail_a_run_whose_sibling_is_locked) {
    sql().run(
        "select create_flow('flow', max_attempts => 1); select add_step('flow', 'a'); "
        "select add_step('flow', 'b')"
    );
    const std::string run = start_run();
    const auto tasks = sql().rows("select msg_id from poll_for_tasks('flow', 30, 5)");
    ASSERT_EQ(tasks.size(), 2U);
    auto other = another();
    other->run("begin");
    other->run("select from messages where message_id = " + tasks[1][0] + " for update");
    const std::string batch = fmt::format(
        "fail_tasks(array[{}], array[1], array[{}], array['a'], array[0], array['no luck'])",
        tasks[0][0],
        run
    );
    EXPECT_EQ(sql().value("select outcomes from " + batch), "{busy}");
    EXPECT_EQ(sql().value("select status from get_run(" + run + ")"), "RUNNING");
    other->run("rollback");
    EXPECT_EQ(sql().value("select outcomes from " + batch), "{done}");
    EXPECT_EQ(sql().value("select status from get_run(" + run + ")"), "ERROR");
}

TEST_P(FlowProtocolTest, completing_a_task_locks_no_row_of_another_run) {
    make_diamond();
    const std::string first = start_run();
    const std::string second = start_run();
    EXPECT_EQ(sql().rows("select * from poll_for_tasks('flow', 30, 5)").size(), 2U);
    auto other = another();
    other->run("begin");
    EXPECT_EQ(other->value("select complete_task(" + first + ", 'a', 0, '1')"), "done");
    sql().run("set lock_timeout = '30s'");
    EXPECT_EQ(report("complete_task(" + second + ", 'a', 0, '1')"), "done");
    other->run("commit");
}

TEST_P(FlowProtocolTest, steps_and_tasks_show_the_time_of_their_outcome) {
    freeze();
    sql().run(
        "select create_flow('flow', max_attempts => 1); select add_step('flow', 'a'); "
        "select add_step('flow', 'b', array['a'], when_exhausted => 'skip-cascade'); "
        "select add_step('flow', 'c', array['b']); select add_step('flow', 'd', array['a'])"
    );
    const std::string run = start_run();
    advance(1s);
    EXPECT_EQ(work(), 1U);
    advance(1s);
    EXPECT_EQ(sql().rows("select * from poll_for_tasks('flow', 30, 5)").size(), 2U);
    EXPECT_EQ(report("fail_task(" + run + ", 'b', 0, 'no luck')"), "done");
    EXPECT_EQ(
        sql().rows("select step_slug, status, started_at - created_at, completed_at - created_at, "
                   "skipped_at - created_at, skip_reason from step_states order by step_index"),
        (std::vector<Row>{
            {"a", "SUCCESS", "00:00:00", "00:00:01", "", ""},
            {"b", "SKIPPED", "00:00:01", "", "00:00:02", "handler_failed"},
            {"c", "SKIPPED", "", "", "00:00:02", "dependency_skipped"},
            {"d", "RUNNING", "00:00:01", "", "", ""}})
    );
    EXPECT_EQ(
        sql().rows(
            "select step_slug, status, started_at - queued_at, failed_at - queued_at, "
            "error_message from list_tasks(" +
            run + ")"
        ),
        (std::vector<Row>{
            {"a", "SUCCESS", "00:00:01", "", ""},
            {"b", "ERROR", "00:00:01", "00:00:01", "no luck"},
            {"d", "RUNNING", "00:00:01", "", ""}})
    );
}

TEST_P(FlowProtocolTest, a_read_of_no_messages_gives_none) {
    make_diamond();
    (void)start_run();
    EXPECT_EQ(sql().rows("select * from read_with_poll('flow', 30, 0)"), std::vector<Row>{});
    EXPECT_EQ(work(), 1U) << "nothing was leased";
    EXPECT_TRUE(contains(why("read_with_poll('flow', 30, -1)"), "PW003 qty must be"));
}

TEST_P(FlowProtocolTest, one_call_returns_a_run_with_its_steps_and_tasks) {
    make_diamond();
    const std::string run = start_run("flow", R"({"n":1})");
    EXPECT_EQ(work(), 1U);
    const auto part = [&](const std::string& path) {
        return sql().value("select get_run_with_steps(" + run + ")::jsonb " + path);
    };
    EXPECT_EQ(part("-> 'run' -> 'input' ->> 'n'"), "1");
    EXPECT_EQ(part("-> 'run' ->> 'workflow'"), "flow");
    EXPECT_EQ(part("-> 'run' ->> 'status'"), "RUNNING");
    EXPECT_EQ(part("#>> '{steps,0,status}'"), "SUCCESS");
    EXPECT_EQ(part("#>> '{steps,0,output}'"), "a");
    EXPECT_EQ(part("#>> '{steps,0,tasks,0,status}'"), "SUCCESS");
    EXPECT_EQ(part("#>> '{steps,1,tasks,0,attempts}'"), "0");
    EXPECT_EQ(part("#>> '{steps,3,status}'"), "PENDING");
    EXPECT_EQ(part("#>> '{steps,3,tasks}'"), "");
    EXPECT_EQ(sql().value("select get_run_with_steps(424242) is null"), "t");
    sql().run("select create_workflow('job')");
    const std::string job = sql().value("select trigger('job', '[1]')");
    EXPECT_EQ(sql().value("select get_run_with_steps(" + job + ")::jsonb ->> 'steps'"), "[]");
}

TEST_P(FlowProtocolTest, bad_definitions_have_errors_of_their_own) {
    make_diamond();
    const auto refused = [&](const std::string& call, const std::string& words) {
        EXPECT_TRUE(contains(why(call), words)) << call << ": " << why(call);
    };
    refused("create_flow('1st')", "PW003 invalid flow slug '1st'");
    refused("create_flow('')", "PW003 invalid flow slug ''");
    refused("create_flow(null)", "PW003 invalid flow slug");
    refused("create_flow('a-b')", "PW003 invalid flow slug 'a-b'");
    refused("create_flow(repeat('x', 129))", "PW003 invalid flow slug");
    refused(
        "create_flow('run')", "PW003 invalid flow slug 'run': it is reserved for the run's input"
    );
    refused(
        "create_flow('f', max_attempts => -1)",
        "PW003 flow 'f': max_attempts must be 0 (no retry) to 1000000"
    );
    refused(
        "create_flow('f', base_delay => -1)", "PW003 flow 'f': base_delay must not be negative"
    );
    refused(
        "create_flow('f', timeout => 1e12)", "PW003 flow 'f': timeout is longer than 100 years"
    );
    refused("create_flow('f', timeout => 'NaN')", "PW003 flow 'f': timeout is longer");
    refused("add_step('nope', 'a')", "PW016 flow 'nope' does not exist");
    refused("add_step('flow', 'run')", "PW003 invalid step slug 'run'");
    refused("add_step('flow', 'e', array['x'])", "depends on 'x', which the flow does not have");
    refused("add_step('flow', 'e', array['a', null])", "PW003");
    refused(
        "add_step('flow', 'e', array['e'])", "PW003 step 'e' of flow 'flow' cannot depend on itself"
    );
    refused(
        "add_step('flow', 'e', array['a', 'b'], step_type => 'map')",
        "PW003 step 'e' of flow 'flow' is a map step and can depend on at most one step"
    );
    refused("add_step('flow', 'e', step_type => 'loop')", "unknown step_type 'loop'");
    refused("add_step('flow', 'e', when_unmet => 'cry')", "unknown when_unmet 'cry'");
    refused("add_step('flow', 'e', when_exhausted => null)", "unknown when_exhausted");
    refused("add_step('flow', 'e', start_delay => -0.5)", "start_delay must not be negative");
    refused(
        "add_step('flow', 'e', required_input_pattern => '{a:1}')",
        "PW003 step 'e' of flow 'flow': required_input_pattern is not JSON"
    );
    refused(
        "add_step('flow', 'e', forbidden_input_pattern => '')",
        "forbidden_input_pattern is not JSON"
    );
    refused("add_step('flow', 'a', max_attempts => 2)", "PW017");
    refused(
        "add_step('flow', 'a', max_attempts => 2)",
        "max_attempts is the flow's in the store, 2 in the declaration"
    );
    refused(
        "add_step('flow', 'b', array['a', 'c'])",
        "deps is {a} in the store, {a,c} in the declaration"
    );
    EXPECT_EQ(why("add_step('flow', 'd', array['c', 'b'])"), "") << "the same again";
}

TEST_P(FlowProtocolTest, bad_calls_have_errors_of_their_own) {
    make_diamond();
    sql().run("select create_workflow('code')");
    const auto refused = [&](const std::string& call, const std::string& words) {
        EXPECT_TRUE(contains(why(call), words)) << call << ": " << why(call);
    };
    refused("start_flow('nope')", "PW016 flow 'nope' does not exist");
    refused("start_flow('code')", "PW016 flow 'code' does not exist");
    refused("start_flows(array['flow', 'nope'], array['1', '2']::json[])", "PW016");
    refused("poll_for_tasks('nope', 30, 1)", "PW016");
    refused("poll_for_tasks('flow', -1, 1)", "PW003 vt must");
    refused("poll_for_tasks('flow', 30, 0)", "PW003 qty must");
    refused("poll_for_tasks('flow', 30, 1, -1)", "PW003 max_poll_seconds must");
    refused("poll_for_tasks('flow', 30, 1, 1, 0)", "PW003 poll_interval_ms must");
    refused("read_with_poll('nope', 30, 1)", "PW001");
    refused("start_tasks('nope', array[1])", "PW016");
    refused("get_flow_shape('nope')", "PW016");
    refused("delete_flow_and_data('nope')", "PW016");
    refused("enqueue('flow', '1')", "PW009");
    refused("create_workflow('flow')", "PW003");
    refused("create_flow('code')", "PW003 workflow 'code' exists and is not a flow");
    refused("ensure_flow('[]')", "PW003 flow shape: must be an object");
    refused("ensure_flow('{\"slug\":1}')", "PW003 flow shape: 'slug' must be a string");
    refused("ensure_flow('{\"slug\":\"f\",\"steps\":[1]}')", "each step must be an object");
    refused("ensure_flow('{\"slug\":\"f\",\"timeout\":\"x\"}')", "must be a number of seconds");
    refused(
        "ensure_flow('{\"slug\":\"flow\",\"steps\":[{\"slug\":\"a\"}]}')",
        "PW017 flow 'flow' exists and differs: it has 4 steps in the store, 1 in the declaration"
    );
    const std::string run = start_run();
    refused("resume(" + run + ", 'a')", "PW003 run " + run + " belongs to a flow");
    refused("delete_flow_and_data('flow')", "PW008 flow 'flow' has 1 live runs");
    refused("delete_workflow('flow')", "PW008");
    EXPECT_EQ(why("delete_flow_and_data('flow', true)"), "");
    for (const auto* table : {"tasks", "steps", "runs", "messages", "flow_steps", "flow_deps"})
        EXPECT_EQ(sql().number(fmt::format("select count(*) from {}", table)), 0) << table;
}

TEST_P(FlowProtocolTest, its_shape_is_what_cpp_reads_and_writes) {
    const FlowShape declared = flow("shaped")
                                   .max_attempts(4)
                                   .backoff_base(1001ms)
                                   .step("a", {}, {.max_attempts = 2, .task_timeout = 0s})
                                   .map("b", "a", {.backoff_base = 250ms, .start_delay = 1s})
                                   .step(
                                       "c",
                                       {"b", "a"},
                                       {.required_input_pattern = Json{R"({"a":[1,null]})"},
                                        .forbidden_input_pattern = Json{"null"},
                                        .when_unmet = WhenUnmet::skip_cascade,
                                        .when_exhausted = WhenExhausted::skip}
                                   )
                                   .create(store())
                                   .shape();
    const Json stored{sql().value("select get_flow_shape('shaped')")};
    EXPECT_EQ(to_json(to_flow_shape(stored)).text, stored.text);
    EXPECT_EQ(store().ensure_flow(declared), EnsuredFlow::same);
    EXPECT_EQ(sql().value("select ensure_flow(get_flow_shape('shaped'))"), "same");
    const std::string copy =
        "replace(get_flow_shape('shaped')::text, '\"shaped\"', '\"copy\"')::json";
    EXPECT_EQ(sql().value("select ensure_flow(" + copy + ")"), "created");
    EXPECT_EQ(store().flow_shape("copy").steps.size(), 3U);
    const std::string other =
        "replace(" + copy + "::text, '\"timeout\":60', '\"timeout\":6')::json";
    EXPECT_TRUE(contains(
        why("ensure_flow(" + other + ")"),
        "timeout is 60000 ms in the store, 6000 ms in the declaration"
    ));
    EXPECT_EQ(sql().value("select ensure_flow(" + other + ", true)"), "recreated");
}

TEST_P(FlowProtocolTest, batches_of_runs_are_started_in_order) {
    make_diamond();
    sql().run("select create_flow('empty')");
    const auto runs = sql().rows(
        "select flow_slug, status, input, output, remaining_steps from start_flows("
        "array['flow', 'empty', 'flow'], array['1', '2', null]::json[], "
        "idempotency_keys => array['k', null, 'k'])"
    );
    EXPECT_EQ(
        runs,
        (std::vector<Row>{
            {"flow", "QUEUED", "1", "", "4"},
            {"empty", "SUCCESS", "2", "{}", "0"},
            {"flow", "QUEUED", "1", "", "4"}})
    );
    EXPECT_EQ(sql().number("select count(*) from runs"), 2);
}

TEST_P(FlowProtocolTest, every_function_of_flows_has_a_comment) {
    EXPECT_EQ(
        sql().rows(
            "select p.proname from pg_proc p where p.pronamespace = current_schema()::regnamespace "
            "and p.proname !~ 'workflow' and p.proname ~ '(flow|task|step_|shape|call)' and "
            "obj_description(p.oid, 'pg_proc') "
            "is null"
        ),
        std::vector<Row>{}
    );
}

}  // namespace
}  // namespace pawl::test
