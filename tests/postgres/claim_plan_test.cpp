// A claim reads a few rows, independent of the size of the table. Measured by counters, not by
// time.
#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class ClaimPlanTest : public StoreTest {
protected:
    static constexpr int backlog = 20'000;

    void fill(const std::string& queue, const std::string& state, const std::string& visible)
        const {
        database()->run(
            "insert into " + place().table("messages") +
            " (queue_id, priority, state, visible_at, enqueued_at, payload) select q.queue_id, i % "
            "7, '" +
            state + "', " + visible + ", clock_timestamp(), '1' from " + place().table("queues") +
            " q, generate_series(1, " + std::to_string(backlog) + ") i where q.name = '" + queue +
            "'"
        );
    }
    void fill_archive(const std::string& queue) const {
        database()->run(
            "insert into " + place().table("archive") +
            " select 1000000 + i, q.queue_id, 0, 1, 0, 0, false, null, clock_timestamp(), "
            "clock_timestamp(), null, '1' from " +
            place().table("queues") + " q, generate_series(1, " + std::to_string(backlog) +
            ") i where q.name = '" + queue + "'"
        );
    }
    // Rows and pages that one statement reads.
    struct Cost {
        long seq_scans = 0;
        long rows = 0;
        long pages = 0;
    };
    Cost read_cost(Database& session) const {
        // The counters of this session, before they reach the shared ones.
        const auto row = session.rows(
            "select coalesce(sum(pg_stat_get_xact_numscans(c.oid)) filter (where c.relkind = 'r'), "
            "0), "
            "coalesce(sum(pg_stat_get_xact_tuples_returned(c.oid)), 0), "
            "coalesce(sum(pg_stat_get_xact_blocks_fetched(c.oid)), 0) "
            "from pg_class c where c.relnamespace = '" +
            place().schema() +
            "'::regnamespace and (c.relname like 'messages%' or c.relname like 'archive%')"
        );
        return {std::stol(row[0][0]), std::stol(row[0][1]), std::stol(row[0][2])};
    }
    Cost cost_of(const std::string& sql) const {
        const auto session = database();
        session->run("begin");
        const Cost before = read_cost(*session);
        session->run(sql);
        const Cost after = read_cost(*session);
        session->run("rollback");
        return {
            after.seq_scans - before.seq_scans,
            after.rows - before.rows,
            after.pages - before.pages};
    }
    std::string claim_sql(int count) const {
        return "select * from " + place().schema() + ".claim((select array_agg(queue_id) from " +
               place().table("queues") + "), " + std::to_string(count) + ")";
    }
    void expect_cheap(const std::string& sql) const {
        const Cost cost = cost_of(sql);
        EXPECT_EQ(cost.seq_scans, 0);
        EXPECT_LT(cost.rows, 300);
        EXPECT_LT(cost.pages, 600);
    }
};
INSTANTIATE_TEST_SUITE_P(, ClaimPlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(ClaimPlanTest, the_counters_see_a_sequential_scan) {
    make_queue();
    fill("work", "ready", "clock_timestamp()");
    const Cost cost = cost_of("select count(payload::text) from " + place().table("messages"));
    EXPECT_EQ(cost.seq_scans, 1);
    EXPECT_GT(cost.pages, 100);
}

TEST_P(ClaimPlanTest, a_claim_from_a_large_backlog_is_cheap_with_and_without_statistics) {
    make_queue();
    fill("work", "ready", "clock_timestamp()");
    expect_cheap(claim_sql(10));
    database()->run("analyze " + place().table("messages"));
    expect_cheap(claim_sql(10));
}

TEST_P(ClaimPlanTest, waiting_and_archived_messages_cost_a_claim_nothing) {
    make_queue();
    fill("work", "waiting", "clock_timestamp() + interval '1 hour'");
    fill_archive("work");
    expect_cheap(claim_sql(10));
    enqueue_many(store().queue("work"), 20);
    expect_cheap(claim_sql(10));
    database()->run("analyze " + place().table("messages"));
    expect_cheap(claim_sql(10));
}

TEST_P(ClaimPlanTest, timers_that_end_at_the_same_time_are_not_sorted) {
    make_queue();
    fill("work", "waiting", "clock_timestamp() - interval '1 second'");
    expect_cheap(claim_sql(10));
    database()->run("analyze " + place().table("messages"));
    expect_cheap(claim_sql(10));
}

TEST_P(ClaimPlanTest, statistics_of_an_empty_table_do_not_spoil_the_plan) {
    make_queue();
    database()->run("analyze " + place().table("messages"));
    fill("work", "ready", "clock_timestamp()");
    expect_cheap(claim_sql(10));
}

TEST_P(ClaimPlanTest, a_wide_set_is_found_by_skipping_not_by_scanning) {
    for (int i = 0; i < 60; ++i) make_queue("q" + std::to_string(i));
    fill("q30", "ready", "clock_timestamp()");
    fill("q40", "waiting", "clock_timestamp() + interval '1 hour'");
    expect_cheap(claim_sql(10));
    database()->run("analyze " + place().table("messages"));
    expect_cheap(claim_sql(10));
}

TEST_P(ClaimPlanTest, settling_reads_only_what_it_settles) {
    const Queue queue = make_queue();
    fill("work", "waiting", "clock_timestamp() + interval '1 hour'");
    fill_archive("work");
    enqueue_many(queue, 10);
    std::string message_ids;
    for (const Message& message : take(queue, 10))
        message_ids += (message_ids.empty() ? "" : ",") + std::to_string(message.id.value());
    const std::string leases = "array[" + message_ids + "]::bigint[], array_fill(1, array[10])";
    for (const std::string function : {"archive", "delete", "hand_back"})
        expect_cheap("select " + place().schema() + "." + function + "(" + leases + ")");
    expect_cheap(
        "select " + place().schema() + ".extend(" + leases + ", array_fill(5::bigint, array[10]))"
    );
    expect_cheap("select " + place().schema() + ".release(" + leases + ")");
    expect_cheap(
        "select " + place().schema() + ".fail(" + leases +
        ", array_fill('x'::text, array[10]), array_fill(5::bigint, array[10]))"
    );
}

}  // namespace
}  // namespace pawl::test
