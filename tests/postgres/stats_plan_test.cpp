// Stats, scrapes, lists of messages and checks before a claim read a bounded number of rows,
// independent of other queues, the archive and stopped workers. Measured by counters, not by time.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class StatsPlanTest : public WorkflowTest {
protected:
    static constexpr int rows = 10'000;

    // Queue `full` has rows of every kind; `idle` has none, and `job` is a workflow without runs.
    void SetUp() override {
        WorkflowTest::SetUp();
        make_queue("full");
        make_queue("idle");
        make_workflow();
        database()->run(
            "create or replace function " + place().schema() +
            ".count_limit() returns integer language sql immutable as 'select 100'"
        );
        const std::string series = "generate_series(1, " + std::to_string(rows) + ") i";
        const std::string full = place().table("queues") + " q where q.name = 'full'";
        database()->run(
            "insert into " + place().table("messages") +
            " (queue_id, priority, state, visible_at, enqueued_at, payload, delivery) select "
            "q.queue_id, i % 3, case i % 4 when 0 then 'waiting' when 1 then 'leased' else 'ready' "
            "end, case when i % 4 > 1 then now() else now() + interval '1 hour' end, now(), '1', 0 "
            "from " +
            series + ", " + full
        );
        database()->run(
            "insert into " + place().table("archive") +
            " select 1000000 + i, q.queue_id, 0, 1, 0, 0, i % 2 = 0, null, now(), now(), null, '1' "
            "from " +
            series + ", " + full
        );
        database()->run(
            "insert into " + place().table("workers") +
            " (name, host, port, pid, status, lease_ms, subscriptions, handlers, started_at, "
            "heartbeat_at) select 'w', 'h', 0, i, 'STOPPED', 30000, '{}', '{job}', now(), now() "
            "from " +
            series
        );
    }
    [[nodiscard]] long rows_read(const std::string& call) const {
        const auto session = database();
        const auto counted = [&] {
            return session->number(
                "select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c where "
                "c.relnamespace = '" +
                place().schema() +
                "'::regnamespace and c.relname ~ '^(runs|messages|archive|workers)'"
            );
        };
        session->run("begin");
        const long before = counted();
        session->run("select * from " + place().schema() + "." + call);
        const long read = counted() - before;
        session->run("rollback");
        return read;
    }
    void expect_bounded() const {
        for (const std::string call :
             {"queue_stats('{idle}')",
              "list_messages('idle')",
              "list_messages('idle', 'leased')",
              "list_archive('idle')",
              "list_archive('idle', true)",
              "purge_queue('idle')",
              "delete_queue('idle')",
              "delete_queue('idle', true)",
              "workflow_stats('job')",
              "has_live_handler('job')",
              "fail_unhandled('{job}')"})
            EXPECT_LT(rows_read(call), 20) << call;
        for (const std::string call :
             {"queue_stats('{full}', 100)",
              "queue_stats(null, 100, 10)",
              "list_messages('full', 'ready', max_rows => 10)",
              "list_messages('full', max_rows => 10)",
              "list_archive('full', max_rows => 10)",
              "list_archive('full', true, max_rows => 10)",
              "list_archive('full', after_message => 1009980, max_rows => 10)",
              "worker_counts(100)"})
            EXPECT_LT(rows_read(call), 1000) << call;
        trigger_one();
        EXPECT_LT(rows_read("fail_unhandled('{job}')"), 50) << "a run without a handler";
    }
    void trigger_one() const { (void)trigger(); }
};
INSTANTIATE_TEST_SUITE_P(, StatsPlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(StatsPlanTest, the_counters_see_a_whole_table) {
    EXPECT_GE(rows_read("metrics('full')"), 2 * rows);
}

TEST_P(StatsPlanTest, stats_and_lists_read_few_rows) {
    for (const std::string table : {"messages", "archive", "workers"})
        database()->run("analyze " + place().table(table));
    expect_bounded();
}

TEST_P(StatsPlanTest, statistics_are_not_needed_for_it) {
    expect_bounded();
}

TEST_P(StatsPlanTest, a_count_that_stops_at_the_limit_is_a_lower_bound) {
    const auto session = database();
    const auto row = session->rows(
        "select ready, waiting, leased, archived, dead, at_least from " + place().schema() +
        ".queue_stats('{full}', 100, 6000)"
    );
    EXPECT_EQ(row.front(), (Row{"100", "100", "100", "5000", "5000", "{ready,waiting,leased}"}));
    const auto exact = session->rows(
        "select ready, waiting, leased, archived, dead from " + place().schema() +
        ".metrics('full')"
    );
    EXPECT_EQ(exact.front(), (Row{"5000", "2500", "2500", "5000", "5000"}));
}

}  // namespace
}  // namespace pawl::test
