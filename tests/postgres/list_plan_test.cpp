// A page of runs reads a page, whatever is asked for. Counters, not time.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class ListPlanTest : public WorkflowTest {
protected:
    static constexpr int runs_each = 10'000;

    void SetUp() override {
        WorkflowTest::SetUp();
        for (const std::string name : {"one", "two", "three"}) make_workflow(name);
        const std::string next = "nextval('" + place().schema() + ".messages_message_id_seq')";
        database()->run(
            "insert into " + place().table("runs") +
            " (run_id, workflow_id, status, priority, created_at, updated_at, completed_at, input, "
            "error, idempotency_key) select " +
            next +
            ", w.workflow_id, case i % 1000 when 0 then 'ERROR' when 1 then 'PAUSED' else "
            "'SUCCESS' end, 0, clock_timestamp(), clock_timestamp(), case when i % 1000 <> 1 then "
            "clock_timestamp() end, '1', case when i % 1000 = 0 then '{}' end, 'k' || i from "
            "generate_series(1, " +
            std::to_string(runs_each) + ") i cross join " + place().table("workflows") + " w"
        );
        database()->run(
            "insert into " + place().table("run_tags") +
            " select 't' || run_id % 500, run_id from " + place().table("runs")
        );
    }
    // Rows that one statement reads from runs, run_tags and their indexes.
    [[nodiscard]] long rows_read(const std::string& call) const {
        const auto session = database();
        const auto counted = [&] {
            return session->number(
                "select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c where "
                "c.relnamespace = '" +
                place().schema() + "'::regnamespace and c.relname like 'run%'"
            );
        };
        session->run("begin");
        const long before = counted();
        const std::string sql = "select * from " + place().schema() + "." + call;
        EXPECT_FALSE(session->rows(sql).empty()) << call;
        return counted() - before;
    }
    void expect_pages() const {
        for (const std::string filter :
             {"'two'",
              "'two', 'ERROR'",
              "'two', 'PAUSED'",
              "status => 'PAUSED'",
              "status => 'SUCCESS'",
              "tag => 't7'",
              "'two', tag => 't7'",
              "idempotency_key => 'k77'",
              "'two', idempotency_key => 'k77'",
              "include_deleted => true"}) {
            EXPECT_LT(rows_read("list_runs(" + filter + ", max_rows => 10)"), 150) << filter;
            if (contains(filter, "idempotency_key")) continue;  // has no second page
            EXPECT_LT(
                rows_read("list_runs(" + filter + ", before_run => 20000, max_rows => 10)"), 150
            ) << filter;
        }
        for (const std::string filter : {"'two', 'ERROR'", "'two', 'PAUSED'", "tag => 't7'"})
            EXPECT_LT(rows_read("count_runs(" + filter + ")"), 300) << filter;
    }
};
INSTANTIATE_TEST_SUITE_P(, ListPlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(ListPlanTest, the_counters_see_a_whole_table) {
    EXPECT_GE(rows_read("count_runs()"), 3 * runs_each);
}

TEST_P(ListPlanTest, a_page_is_read_from_an_index) {
    database()->run("analyze " + place().table("runs"));
    database()->run("analyze " + place().table("run_tags"));
    expect_pages();
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

}  // namespace
}  // namespace pawl::test
