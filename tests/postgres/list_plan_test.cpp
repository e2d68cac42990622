// A page or a count reads a bounded number of rows, for every filter and any history. Measured by
// counters, not by time. The limit above which counts are lower bounds is 100 here instead of
// 10000.
#include <map>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class ListPlanTest : public WorkflowTest {
protected:
    static constexpr int runs_each = 10'000;
    static constexpr long few = 1000;
    static constexpr long whole = 3L * runs_each;

    // Rare rows are where a wrong plan has to read far: RUNNING runs below 2000 newer QUEUED ones,
    // CANCELLED ones among errors, a key of a deleted run, a tag that half of all runs have.
    void SetUp() override {
        WorkflowTest::SetUp();
        for (const std::string name : {"one", "two", "three"}) make_workflow(name);
        database()->run(
            "create or replace function " + place().schema() +
            ".count_limit() returns integer language sql immutable as 'select 100'"
        );
        const std::string next = "nextval('" + place().schema() + ".messages_message_id_seq')";
        database()->run(
            "insert into " + place().table("runs") +
            " (run_id, workflow_id, status, priority, created_at, updated_at, completed_at, "
            "paused_at, input, error, cancelled, idempotency_key, deleted_at) select " +
            next +
            ", workflow_id, status, 0, at, at, case when status in ('SUCCESS', 'ERROR', "
            "'CANCELLED') then at end, case when status = 'PAUSED' then at end, '1', case when "
            "status in ('ERROR', 'CANCELLED') then '{}' end, case when status = 'CANCELLED' then "
            "true end, 'k' || i, case when i % 1000 = 7 then at end from (select i, w.workflow_id, "
            "timestamptz '2030-01-01 UTC' + i * interval '1 second' as at, case when i > 8000 then "
            "'QUEUED' when i > 7990 then 'RUNNING' when i % 1000 = 2 then 'PAUSED' when i % 1000 = "
            "1 then 'CANCELLED' when i % 3 = 0 then 'ERROR' when w.workflow_id % 3 = 0 and i > 20 "
            "then 'ERROR' else 'SUCCESS' end as status from generate_series(1, " +
            std::to_string(runs_each) + ") i cross join " + place().table("workflows") +
            " w order by i) s"
        );
        database()->run(
            "insert into " + place().table("messages") +
            " (message_id, queue_id, priority, delivery, state, visible_at, enqueued_at, payload) "
            "select run_id, workflow_id, 0, (status <> 'QUEUED')::integer, case status when "
            "'QUEUED' then 'ready' when 'RUNNING' then 'leased' else 'waiting' end, created_at + "
            "interval '100 years', created_at, '1' from " +
            place().table("runs") + " where completed_at is null"
        );
        database()->run(
            "insert into " + place().table("run_tags") + " select t.tag, r.run_id from " +
            place().table("runs") +
            " r cross join lateral (values ('t' || r.run_id % 500), (case when r.run_id % 2 = 0 "
            "then 'popular' end), (case when r.status in ('PAUSED', 'CANCELLED') then 'popular' "
            "end)) as t (tag) where t.tag is not null on conflict do nothing"
        );
        // A flow with some RUNNING runs below many newer QUEUED ones. No worker has taken their
        // tasks.
        store().create_flow("flow");
        database()->run(
            "insert into " + place().table("runs") +
            " (run_id, workflow_id, status, priority, created_at, updated_at, input, "
            "remaining_steps, flow_started) select " +
            next +
            ", workflow_id, case when i > 10 then 'QUEUED' else 'RUNNING' end, 0, at, at, '1', 2, "
            "case when i <= 10 then true end from (select i, w.workflow_id, timestamptz "
            "'2030-01-01 UTC' + i * interval '1 second' as at from generate_series(1, 5000) i "
            "cross join " +
            place().table("workflows") + " w where w.is_flow order by i) s"
        );
    }
    // Rows that one statement reads from the tables of runs and messages and their indexes.
    [[nodiscard]] long rows_read(const std::string& call) const {
        const auto session = database();
        const auto counted = [&] {
            return session->number(
                "select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c where "
                "c.relnamespace = '" +
                place().schema() + "'::regnamespace and c.relname ~ '^(run|messages)'"
            );
        };
        session->run("begin");
        const long before = counted();
        const std::string sql = "select * from " + place().schema() + "." + call;
        EXPECT_FALSE(session->rows(sql).empty()) << call;
        return counted() - before;
    }
    static std::vector<std::string> filters() {
        std::vector<std::string> all{
            "'two'",
            "'two', created_before => '2030-01-01 00:10 UTC'",
            "'two', 'ERROR', created_before => '2030-01-01 00:10 UTC'",
            "'two', created_from => '2030-01-01 01:00 UTC', created_before => '2030-01-01 01:10 "
            "UTC'",
            "created_before => '2030-01-01 00:10 UTC'",
            "tag => 't7'",
            "'two', tag => 't7'",
            "tag => 'popular'",
            "tag => 'popular', status => 'CANCELLED'",
            "'two', tag => 'popular', status => 'PAUSED'",
            "idempotency_key => 'k77'",
            "'two', idempotency_key => 'k77'",
            "idempotency_key => 'k1007', include_deleted => true",
            "include_deleted => true",
            "'flow', 'RUNNING'"};
        for (const std::string status :
             {"QUEUED", "RUNNING", "PAUSED", "SUCCESS", "ERROR", "CANCELLED"}) {
            all.push_back("'two', '" + status + "'");
            all.push_back("status => '" + status + "'");
        }
        return all;
    }
    void expect_bounded() const {
        for (const std::string& filter : filters()) {
            EXPECT_LT(rows_read("list_runs(" + filter + ", max_rows => 10)"), few) << filter;
            EXPECT_LT(rows_read("run_counts(" + filter + ", count_limit => 100)"), 3 * few)
                << filter;
            if (contains(filter, "k77") || contains(filter, "k1007") || contains(filter, "t7") ||
                contains(filter, "00:10"))
                continue;  // it has no second page
            const std::string second = contains(filter, "RUNNING")     ? "23990"
                                       : contains(filter, "CANCELLED") ? "20000"
                                                                       : "24100";
            EXPECT_LT(
                rows_read(
                    "list_runs(" + filter + ", before_run => " + second + ", max_rows => 10)"
                ),
                few
            ) << filter;
        }
        EXPECT_LT(rows_read("run_counts(count_limit => 100)"), 3 * few);
    }
};
INSTANTIATE_TEST_SUITE_P(, ListPlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(ListPlanTest, the_counters_see_a_whole_table) {
    EXPECT_GE(rows_read("count_runs()"), whole);
}

TEST_P(ListPlanTest, a_page_or_a_count_reads_few_rows) {
    for (const std::string table : {"runs", "run_tags", "messages"})
        database()->run("analyze " + place().table(table));
    expect_bounded();
}

TEST_P(ListPlanTest, statistics_are_not_needed_for_it) {
    expect_bounded();
}

TEST_P(ListPlanTest, a_count_that_stops_at_the_limit_is_a_lower_bound) {
    const auto counts = [&](const std::string& arguments) {
        std::map<std::string, std::string> found;
        for (const Row& row : database()->rows(
                 "select * from " + place().schema() + ".run_counts(" + arguments + ")"
             ))
            found[row[0]] = row[1] + (row[2] == "t" ? "" : "+");
        return found;
    };
    const auto cut = counts("'two', count_limit => 100");
    EXPECT_EQ(cut.at("QUEUED"), "100+");
    EXPECT_EQ(cut.at("RUNNING"), "10");
    EXPECT_EQ(cut.at("PAUSED"), "8");
    EXPECT_EQ(cut.at("ERROR"), "100+");
    const auto exact = counts("'two', count_limit => 10000");
    EXPECT_EQ(exact.at("QUEUED"), "1998") << "two are soft-deleted";
    EXPECT_EQ(exact.at("RUNNING"), "10");
    for (const Row& row :
         database()->rows("select * from " + place().schema() + ".count_runs('two')"))
        EXPECT_EQ(exact.at(row[0]), row[1]) << row[0];
}

TEST_P(ListPlanTest, a_claim_and_its_end_write_no_new_index) {
    // HOT: the row version that a claim writes is in no index of runs.
    const RunId run = trigger("one");
    database()->run("vacuum " + place().table("runs"));
    const auto session = database();
    const auto hot = [&] {
        return session->number(
            "select pg_stat_get_xact_tuples_hot_updated('" + place().table("runs") + "'::regclass)"
        );
    };
    session->run("begin");
    session->run(
        "update " + place().table("runs") +
        " set status = 'RUNNING', started_at = now(), worker_id = 1, updated_at = now(), paused_at "
        "= null where run_id = " +
        std::to_string(run.value())
    );
    EXPECT_EQ(hot(), 1);
    session->run("rollback");
}

TEST_P(ListPlanTest, quotes_in_what_is_asked_for_are_only_text) {
    for (const std::string filter : {"workflow", "status", "tag", "idempotency_key"})
        EXPECT_TRUE(database()
                        ->rows(
                            "select * from " + place().schema() + ".list_runs(" + filter +
                            " => 'x'' or true --')"
                        )
                        .empty()
        ) << filter;
}

TEST_P(ListPlanTest, the_messages_of_a_worker_are_found_among_few_of_each_queue) {
    const auto session = database();
    session->run(
        "update " + place().table("messages") +
        " set state = 'leased', worker_id = 7, visible_at = now() + interval '1 hour' where "
        "message_id in (select min(message_id) from " +
        place().table("messages") + " group by queue_id)"
    );
    session->run(
        "update " + place().table("messages") +
        " set state = 'waiting', visible_at = now() + interval '1 year' where state = 'ready'"
    );
    EXPECT_LT(rows_read("list_held(7)"), few);
    EXPECT_EQ(session->number("select count(*) from " + place().schema() + ".list_held(7)"), 3);
}

}  // namespace
}  // namespace pawl::test
