// A claim of the outbox and a page of events read a bounded number of rows, independent of the
// published events and the number of aggregates. Measured by counters, not by time.
#include "support/outbox_test.h"

namespace pawl::test {
namespace {

class OutboxPlanTest : public OutboxStoreTest {
protected:
    static constexpr int published = 30'000;

    // Ids ascend from the published events to the pending ones, as in a store that has run for a
    // while. There are a frequent aggregate and a frequent type, and rare ones.
    void fill(const std::string& status, int count, const std::string& aggregate) const {
        database()->run(
            "insert into " + place().table("outbox") +
            " (event_id, type, payload, aggregate, subject, status, visible_at, created_at, "
            "published_at) select gen_random_uuid()::text, case when i % 5000 = 1 then 'rare' else "
            "'popular' end, '1', " +
            aggregate + ", '', '" + status + "', t.at, t.at, case when '" + status +
            "' = 'PUBLISHED' then t.at end from generate_series(1, " + std::to_string(count) +
            ") i cross join (select " + place().schema() + ".clock()) t (at)"
        );
    }
    void fill_history() const {
        fill("PUBLISHED", published, "case when i % 3 = 0 then 'line' else 'a' || i % 1000 end");
        fill("PARKED", 50, "'parked'");
    }
    [[nodiscard]] long rows_read(Database& session, const std::string& sql) const {
        const auto counted = [&] {
            return session.number(
                "select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c where "
                "c.relnamespace = '" +
                place().schema() + "'::regnamespace and c.relname like 'outbox%'"
            );
        };
        session.run("begin");
        const long before = counted();
        (void)session.rows(sql);
        const long after = counted();
        session.run("rollback");
        return after - before;
    }
    [[nodiscard]] std::string function(const std::string& call) const {
        return "select * from " + place().schema() + "." + call;
    }
    // In one session: its plans are those of the first call.
    void expect_bounded_claims() const {
        const auto session = database();
        for (int i = 0; i < 7; ++i)
            EXPECT_LT(rows_read(*session, function("claim_outbox(100, 100)")), 1000);
        EXPECT_LT(rows_read(*session, function("claim_outbox(10, 10)")), 300);
    }
    void analyze() const { database()->run("analyze " + place().table("outbox")); }
};
INSTANTIATE_TEST_SUITE_P(, OutboxPlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(OutboxPlanTest, the_counters_see_a_whole_table) {
    fill_history();
    const auto session = database();
    EXPECT_GE(
        rows_read(*session, "select count(payload) from " + place().table("outbox")), published
    );
}

TEST_P(OutboxPlanTest, a_claim_reads_as_much_with_a_history_as_without) {
    fill_history();
    fill("PENDING", 2000, "'line'");
    expect_bounded_claims();
    analyze();
    expect_bounded_claims();
}

TEST_P(OutboxPlanTest, a_claim_does_not_read_the_lines_that_it_does_not_take) {
    fill_history();
    fill("PENDING", 20'000, "'a' || i % 1000");
    expect_bounded_claims();
    analyze();
    expect_bounded_claims();
}

TEST_P(OutboxPlanTest, statistics_of_an_empty_table_do_not_spoil_the_claim) {
    analyze();
    fill_history();
    fill("PENDING", 2000, "'line'");
    expect_bounded_claims();
}

TEST_P(OutboxPlanTest, a_report_reads_the_rows_that_it_reports) {
    fill_history();
    fill("PENDING", 2000, "'line'");
    const auto claimed = claim_events(100, 100).events;
    ASSERT_EQ(claimed.size(), 100U);
    std::string ids;
    for (const auto& one : claimed) ids += (ids.empty() ? "" : ",") + std::to_string(one.event.id);
    const auto session = database();
    const std::string report = "report_outbox(array[" + ids +
                               "], array_fill(1, array[100]), array_fill('published'::text, "
                               "array[100]))";
    EXPECT_LT(rows_read(*session, function(report)), 500);
}

TEST_P(OutboxPlanTest, a_page_of_events_reads_a_page) {
    fill_history();
    fill("PENDING", 5000, "'a' || i % 1000");
    const auto session = database();
    const auto expect_pages = [&] {
        for (const std::string filter :
             {"",
              "'PENDING', ",
              "'PUBLISHED', ",
              "'PARKED', ",
              "wanted_type => 'rare', ",
              "wanted_type => 'popular', ",
              "wanted_type => 'none', ",
              "'PENDING', wanted_type => 'rare', ",
              "'PARKED', wanted_type => 'popular', ",
              "wanted_aggregate => 'line', ",
              "wanted_aggregate => 'a7', ",
              "wanted_aggregate => 'parked', ",
              "wanted_aggregate => 'none', ",
              "'PENDING', wanted_aggregate => 'line', ",
              "'PARKED', wanted_aggregate => 'line', ",
              "wanted_run => 7, "}) {
            for (const std::string after : {"0", "29000"})
                EXPECT_LT(
                    rows_read(
                        *session,
                        function(
                            "list_outbox(" + filter + "after_event => " + after +
                            ", max_rows => 10)"
                        )
                    ),
                    120
                ) << filter
                  << after;
        }
    };
    expect_pages();
    analyze();
    expect_pages();
}

// A snapshot that stays open keeps all row versions and their index entries.
TEST_P(OutboxPlanTest, a_claim_from_a_position_does_not_walk_over_what_was_delivered) {
    fill("PENDING", 3000, "''");
    const auto old = database();
    old->run("begin isolation level repeatable read");
    (void)old->number("select 1");
    const auto session = database();
    const std::string claim =
        "with c as materialized (" + function("claim_outbox_from(100, 100, 60000, $FROM)") +
        "), r as (select " + place().schema() +
        ".report_outbox(array_agg(c.outbox_id), array_agg(c.delivery), "
        "array_agg('published'::text)) from c where c.outbox_id is not null) select "
        "c.next_from_at::text, c.next_from_id from c, r where c.outbox_id is null";
    const auto from = [](const std::string& sql, const std::string& position) {
        std::string text = sql;
        return text.replace(text.find("$FROM"), 5, position);
    };
    std::string position = "null, null";
    for (int i = 0; i < 25; ++i) {
        const auto row = session->rows(from(claim, position)).at(0);
        position = "'" + row[0] + "', " + row[1];
    }
    ASSERT_EQ(
        session->number(
            "select count(*) from " + place().table("outbox") + " where status = 'PENDING'"
        ),
        500
    );
    const std::string only_claim = function("claim_outbox_from(100, 100, 60000, $FROM)");
    EXPECT_GT(rows_read(*session, from(only_claim, "null, null")), 2500);
    EXPECT_LT(rows_read(*session, from(only_claim, position)), 1000);
}

}  // namespace
}  // namespace pawl::test
