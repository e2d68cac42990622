// Every argument of a SQL function has bounds. A single value out of bounds is refused; in a batch
// of a holder such an item gets the outcome `invalid`, and the others are recorded.
#include <fmt/format.h>
#include <pawl/json.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class SqlBoundsTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        sql_ = database();
        sql_->run("set search_path = " + place().schema() + ", pg_catalog");
        sql_->run(
            "select create_workflow('job'); select create_queue('work'); select "
            "create_flow('flow'); "
            "select add_step('flow', 'a')"
        );
    }
    [[nodiscard]] Database& sql() const { return *sql_; }
    [[nodiscard]] std::string value(const std::string& call) const {
        return sql_->value("select " + call);
    }
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
    // Two leased runs: "array[1, 2], array[1, 1]".
    [[nodiscard]] std::string two_runs() const {
        sql_->run("select trigger_batch(array['job', 'job'], array['1', '2'])");
        return sql_->value(
            "select format('array[%s]::bigint[], array[%s]', string_agg(message_id::text, ', ' "
            "order by message_id), "
            "string_agg(delivery::text, ', ' order by message_id)) from "
            "claim_runs(workflow_ids(array['job']), 2) "
            "where message_id > 0"
        );
    }
    [[nodiscard]] std::string two_messages() const {
        sql_->run("select enqueue_batch('work', array['1', '2']::json[])");
        return sql_->value(
            "select format('array[%s]::bigint[], array[%s]', string_agg(message_id::text, ', ' "
            "order by message_id), "
            "string_agg(delivery::text, ', ' order by message_id)) from "
            "claim(array[queue_id('work')], 2) where "
            "message_id > 0"
        );
    }

    [[nodiscard]] static std::string with_leases(std::string call, const std::string& leases) {
        return call.replace(call.find("LEASES"), 6, leases);
    }

private:
    std::unique_ptr<Database> sql_;
};
INSTANTIATE_TEST_SUITE_P(, SqlBoundsTest, ::testing::Values(BackendKind::postgres), backend_name);

const std::string done_and_invalid = "{done,invalid}";
const std::string largest = "9223372036854775807";

TEST_P(SqlBoundsTest, steps_that_cannot_be_recorded_are_invalid_and_the_others_are_recorded) {
    for (const std::string& second : std::vector<std::string>{
             "array['s', 't'], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1], outputs => "
             "array['1', 'no json']",
             "array['s', 't'], array[1, 2], array['SUCCESS', 'ERROR'], array[1, 1], errors => "
             "array[null, '{']",
             "array['s', 't'], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1], inputs => "
             "array['1', '']",
             "array['s', 't'], array[1, 2], array['SUCCESS', 'DONE'], array[1, 1]",
             "array['s', 't'], array[1, 2], array['SUCCESS', null], array[1, 1]",
             "array['s', null], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1]",
             "array['s', ''], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1]",
             "array['s', repeat('x', 5000)], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1]",
             "array['s', 't'], array[1, null], array['SUCCESS', 'SUCCESS'], array[1, 1]",
             "array['s', 't'], array[1], array['SUCCESS', 'SUCCESS'], array[1, 1]",
             "array['s', 't'], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, -1]",
             "array['s', 't'], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1], wake_ats => "
             "array[null, 'infinity'::timestamptz]",
             "array['s', 't'], array[1, 2], array['SUCCESS', 'SUCCESS'], array[1, 1], elapsed_us "
             "=> array[1, 9223372036854775807]"}) {
        const std::string leases = two_runs();
        EXPECT_EQ(value("record_steps(" + leases + ", " + second + ")"), done_and_invalid)
            << second;
        EXPECT_EQ(
            value(
                "record_steps(" + leases +
                ", array['u', 'u'], array[3, 3], array['SUCCESS', 'SUCCESS'], array[1, 1])"
            ),
            "{done,done}"
        ) << "the lease still holds";
        sql().run("select finish_runs(" + leases + ", array['1', '1'])");
    }
    EXPECT_EQ(sql().number("select count(*) from steps where step_id not in ('s', 'u')"), 0);
}

TEST_P(SqlBoundsTest, one_step_and_one_end_are_judged_as_many_are) {
    const std::string run = value(place().schema() + ".trigger('job', '1')");
    sql().run("select count(*) from claim_runs(workflow_ids(array['job']), 1)");
    for (const std::string& step : std::vector<std::string>{
             "'s', 1, 'SUCCESS', 1, output => 'no json'",
             "'s', 1, 'DONE', 1",
             "'', 1, 'SUCCESS', 1",
             "null, 1, 'SUCCESS', 1",
             "'s', null, 'SUCCESS', 1",
             "'s', 1, 'SUCCESS', 1, elapsed_us => -1",
             "'s', 1, 'SUCCESS', 1, wake_at => '-infinity'"})
        EXPECT_EQ(value("record_step(" + run + ", 1, " + step + ")"), "invalid") << step;
    EXPECT_EQ(sql().value("select outcome from finish_run(" + run + ", 1, 'no json')"), "invalid");
    EXPECT_EQ(value("record_step(" + run + ", 1, 's', 1, 'SUCCESS', 1, output => '1')"), "done");
    EXPECT_EQ(sql().value("select outcome from finish_run(" + run + ", 1, '1')"), "done");
}

TEST_P(SqlBoundsTest, a_step_that_is_given_twice_in_a_batch_is_recorded_once) {
    const std::string run = value(place().schema() + ".trigger('job', '1')");
    sql().run("select count(*) from claim_runs(workflow_ids(array['job']), 1)");
    EXPECT_EQ(
        value(fmt::format(
            "record_steps(array[{0}, {0}]::bigint[], array[1, 1], array['s', 's'], array[1, 1], "
            "array['SUCCESS', 'SUCCESS'], "
            "array[1, 1], outputs => array['1', '2'])",
            run
        )),
        "{done,done}"
    );
    EXPECT_EQ(sql().value("select output from list_steps(" + run + ")"), "1")
        << "the first one counts";
}

TEST_P(SqlBoundsTest, ends_that_are_not_json_end_nothing) {
    for (const std::string& second : std::vector<std::string>{
             "array['1', 'no json']",
             "array['1', null], array[null, 'no json']",
             "array['1', '1'], event_kinds => array['', 'x'], event_data => array['', '1],[2']"}) {
        const std::string leases = two_runs();
        EXPECT_EQ(
            sql().value("select outcomes from finish_runs(" + leases + ", " + second + ")"),
            done_and_invalid
        );
        EXPECT_EQ(
            sql().value("select outcomes from finish_runs(" + leases + ", array['1', '2'])"),
            "{lease_lost,done}"
        );
    }
}

TEST_P(SqlBoundsTest, runs_that_cannot_wait_as_they_ask_keep_their_lease) {
    for (const std::string& call : std::vector<std::string>{
             "suspend_runs(LEASES, array['PAUSED', 'QUEUED'], array[1000, 1000])",
             "suspend_runs(LEASES, array['PAUSED', null], array[1000, 1000])",
             "suspend_runs(LEASES, array['PAUSED', 'PAUSED'], array[1000, 9223372036854775807])",
             "suspend_runs(LEASES, array['PAUSED', 'PAUSED'], array[1000, -1])",
             "suspend_runs(LEASES, array['PAUSED', 'PAUSED'], array[1000, 1000], untils => "
             "array[null, 'infinity'::timestamptz])",
             "suspend_runs(LEASES, array['PAUSED', 'PAUSED'], array[1000, 1000], step_ids => "
             "array['s', 't'], positions => "
             "array[1, 1], step_statuses => array['PAUSED', 'x'], step_attempts => array[0, 0])",
             "suspend_runs(LEASES, array['PAUSED', 'PAUSED'], array[1000, 1000], event_kinds => "
             "array['a', 'a'], event_data => "
             "array['{}', '{'])",
             "retry_runs(LEASES, array[1000, -1], array['{}', '{}']::json[])",
             "pause(LEASES, array['s', 't'], array[1, null])",
             "pause(LEASES, array['s', 't'], array[1, 1], check_after_ms => array[1, "
             "9223372036854775807])",
             "(call_runs(LEASES, null, array['s', 't'], array[1, 1], array[1, 1], null, null, "
             "null, null, array['job', 'nowhere'], "
             "array['1', '1'])).outcomes",
             "(call_runs(LEASES, null, array['s', 't'], array[1, 1], array[1, 1], null, null, "
             "null, null, array['job', 'job'], "
             "array['1', 'no json'])).outcomes",
             "(call_runs(LEASES, null, array['s', 't'], array[1, 1], array[1, 1], null, null, "
             "null, null, array['job'], "
             "array['1'])).outcomes"}) {
        const std::string leases = two_runs();
        const std::string filled = with_leases(call, leases);
        EXPECT_EQ(value(filled), done_and_invalid) << filled;
        sql().run("select finish_runs(" + leases + ", array['1', '1'])");
        sql().run("select count(cancel(run_id)) from list_runs() where completed_at is null");
    }
    const std::string twice = two_runs();
    EXPECT_EQ(
        value(
            "retry_runs(" + twice + R"(, array[1, 1], array['{"message":"\u0000"}', '{}']::json[]))"
        ),
        "{done,done}"
    ) << "JSON that the server cannot turn into text";
}

TEST_P(SqlBoundsTest, times_of_messages_out_of_bounds_are_invalid) {
    for (const std::string& call : std::vector<std::string>{
             "release(LEASES, array[1, -1])",
             "release(LEASES, array[1, 9223372036854775807])",
             "extend(LEASES, array[1000, null])",
             "extend(LEASES, array[1000, 9223372036854775807])",
             "extend(LEASES, array[1000])",
             "fail(LEASES, array['e', 'e'], array[0, -1])",
             "fail(LEASES, array['e', 'e'], array[0, null])"}) {
        const std::string filled = with_leases(call, two_messages());
        EXPECT_EQ(value(filled), done_and_invalid) << filled;
        sql().run("select purge_queue('work')");
    }
}

TEST_P(SqlBoundsTest, reports_about_events_and_tasks_out_of_bounds_are_invalid) {
    sql().run("select publish('t', '1'); select publish('t', '2')");
    sql().run("select count(*) from claim_outbox(10)");
    EXPECT_EQ(
        value("report_outbox(array[1, 2], array[1, 1], array['published', 'lost'])"),
        done_and_invalid
    );
    EXPECT_EQ(
        value("report_outbox(array[2], array[1], array['retry'], delays_ms => array[-1])"),
        "{invalid}"
    );
    EXPECT_EQ(value("report_outbox(array[2], array[1], array['published'])"), "{done}");
    sql().run("select count(*) from start_flow('flow', '1')");
    const Row task = sql().rows("select msg_id, run_id from poll_for_tasks('flow', 30, 1)").front();
    const auto fail = [&](const std::string& rest) {
        return sql().value(fmt::format(
            "select outcomes from fail_tasks(array[{}], array[1], array[{}], array['a'], array[0], "
            "{})",
            task[0],
            task[1],
            rest
        ));
    };
    EXPECT_EQ(fail("array['e'], retry_delays_ms => array[-1]"), "{invalid}");
    const std::string unnamed = fmt::format(
        "select outcomes from delegate_tasks(array[{}], array[1], array[{}], array[]::text[], "
        "array[0], array['job'], array['1'])",
        task[0],
        task[1]
    );
    EXPECT_EQ(sql().value(unnamed), "{invalid}");
    EXPECT_EQ(fail("array[null]"), "{done}");
    EXPECT_EQ(
        sql().number(
            "select count(*) from list_events(" + task[1] + ") where data ->> 'error' = ''"
        ),
        1
    );
}

TEST_P(
    SqlBoundsTest, a_worker_whose_lease_is_out_of_bounds_is_refused_and_others_are_not_affected
) {
    for (const std::string& rest : std::vector<std::string>{
             "'w', 'h', 0, 1, 9223372036854775807, '{}', '{}'",
             "'w', 'h', 0, 1, 0, '{}', '{}'",
             "'w', 'h', 0, 1, null, '{}', '{}'",
             "'', 'h', 0, 1, 1000, '{}', '{}'",
             "null, 'h', 0, 1, 1000, '{}', '{}'",
             "repeat('x', 300), 'h', 0, 1, 1000, '{}', '{}'",
             "'w', 'h', 70000, 1, 1000, '{}', '{}'",
             "'w', 'h', 0, -1, 1000, '{}', '{}'",
             "'w', 'h', 0, 1, 1000, '{}', array[null]"})
        EXPECT_TRUE(contains(refusal("register_worker(" + rest + ")"), "PW003 ")) << rest;
    EXPECT_EQ(sql().number("select count(*) from list_workers()"), 0);
    EXPECT_EQ(refusal("register_worker('w', 'h', 0, 1, 1000, null, null)"), "");
    EXPECT_EQ(
        error_of([&] {
            (void)worker(std::string(300, 'x'))
                .handle("job", [](Context&) { return 1; })
                .create(store());
        }).code(),
        ErrorCode::invalid_argument
    );
}

TEST_P(SqlBoundsTest, single_values_out_of_bounds_are_refused) {
    for (const std::string& call : std::vector<std::string>{
             "dequeue('work', -1)",
             "dequeue('work', null)",
             "dequeue('work', 1, " + largest + ")",
             "claim(array[1], 1, default_lease_ms => null)",
             "claim(array[1], 1, looked_at => 'infinity')",
             "claim_runs(array[1], 1, lease_ms => -1)",
             "claim_runs(array[1], 10001)",
             "claim_runs(array[1], 1, step_bytes => null)",
             "claim_tasks(array[1], 1, swept_at => '-infinity')",
             "claim_tasks(array[1], -1, steps => array['a'])",
             "claim(array[1], 1, floor_priority => (-2147483648)::integer, floor_message => 1)",
             "list_messages('work', max_rows => -1)",
             "list_messages('work', max_rows => null)",
             "list_archive('work', max_rows => 0)",
             "list_runs(max_rows => -1)",
             "list_runs(before_run => -1)",
             "list_outbox(max_rows => 10001)",
             "due_schedules(-1)",
             "purge_workers(" + largest + ")",
             "workflow_metrics('job', -1)",
             "claim_outbox(0)",
             "claim_outbox(1, 0)",
             "claim_outbox(1, 1, " + largest + ")",
             "claim_prune(" + largest + ")",
             "prune_batch('success', 1, max_rows => -1)",
             "pause_queue('work', null)",
             "resume(1, null)",
             "resume(1, repeat('x', 300))",
             "publish_batch(array['t'], array[null])",
             "publish_batch(array['t'], array['1'], array[repeat('x', 2000)])",
             "publish_batch(array['t'], array['1'], traceparents => array['x'])",
             "publish_batch(array['t'], array['1'], event_ids => array[''])",
             "publish_steps(array[1], array[1], array['s'], array['e'], array['t'], array['no "
             "json'], null, null)",
             "add_step_events(array[1], array[1], array['s'], array['SUCCESS'], array['k'], "
             "array['no json'])",
             "poll_for_tasks('flow', -1, 1)",
             "poll_for_tasks('flow', 'NaN', 1)"})
        EXPECT_TRUE(contains(refusal(call), "PW003 ")) << call << ": " << refusal(call);
    EXPECT_TRUE(contains(
        refusal(
            place().schema() +
            ".trigger('job', tags => array(select 't' || i from generate_series(1, 65) i))"
        ),
        "PW003 a run has at most 64 tags"
    ));
}

TEST_P(SqlBoundsTest, a_schedule_out_of_bounds_is_refused) {
    const auto save = [&](const std::string& name, const std::string& given) {
        const std::vector<std::pair<std::string, std::string>> usual{
            {"schedule_id", "null"},
            {"version", "null"},
            {"schedule", "'s'"},
            {"workflow", "'job'"},
            {"cron", "'@daily'"},
            {"time_zone", "'UTC'"},
            {"params", "'1'"},
            {"starts_at", "null"},
            {"ends_at", "null"},
            {"jitter_ms", "0"},
            {"priority", "0"},
            {"overlap", "'allow'"},
            {"catch_up", "'none'"},
            {"catch_up_limit", "1"},
            {"paused", "false"},
            {"next_fire_at", "clock()"},
            {"waiting_fire_at", "null"}};
        std::string list;
        for (const auto& [argument, value] : usual)
            list += ", " + argument + " => " + (argument == name ? given : value);
        return refusal("save_schedule(" + list.substr(2) + ")");
    };
    for (const auto& [name, given] : std::vector<std::pair<std::string, std::string>>{
             {"catch_up_limit", "2147483647"},
             {"catch_up_limit", "0"},
             {"jitter_ms", largest},
             {"priority", "2000000"},
             {"overlap", "'x'"},
             {"catch_up", "null"},
             {"next_fire_at", "'infinity'"},
             {"starts_at", "'-infinity'"},
             {"schedule", "''"},
             {"paused", "null"},
             {"params", "null"},
             {"cron", "null"}})
        EXPECT_TRUE(contains(save(name, given), "PW003 "))
            << name << " " << given << save(name, given);
    EXPECT_EQ(save("", ""), "");
}

TEST_P(SqlBoundsTest, an_event_cannot_be_forged_through_its_payload) {
    for (const std::string& payload : std::vector<std::string>{
             R"('1,"type":"forged"')", R"('1},"type":"forged","data":{')", "'no json'", "''"})
        EXPECT_TRUE(contains(
            refusal("publish_batch(array['t'], array[" + payload + "])"),
            "PW003 payloads[1] is not JSON"
        ));
    EXPECT_EQ(sql().number("select count(*) from list_outbox()"), 0);
}

TEST_P(SqlBoundsTest, a_null_does_not_force) {
    sql().run("select enqueue('work', '1')");
    EXPECT_TRUE(contains(refusal("delete_queue('work', null)"), "PW002 "));
    EXPECT_TRUE(contains(refusal(R"(ensure_flow('{"slug":"flow","steps":[]}', null))"), "PW017 "));
}

TEST_P(SqlBoundsTest, history_lists_events_whose_data_the_server_cannot_parse) {
    const std::string run = value(place().schema() + ".trigger('job', '1')");
    sql().run("select count(*) from claim_runs(workflow_ids(array['job']), 1)");
    sql().run(
        "select finish_runs(array[" + run +
        R"(], array[1], array['1'], event_kinds => array['told'], event_data =>
        array['{"step":"\u0000","task_index":"x","attempt":1e99}']))"
    );
    EXPECT_EQ(sql().number("select count(*) from run_history(" + run + ") where kind = 'told'"), 1);
}

}  // namespace
}  // namespace pawl::test
