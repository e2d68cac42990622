// A batch of pruning reads the rows that it removes, independent of other rows. Measured by
// counters, not by time.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class PrunePlanTest : public WorkflowTest {
protected:
    static constexpr int rows = 20'000;

    // Of 100 runs the first is a success: kept rows are between and before them.
    void SetUp() override {
        WorkflowTest::SetUp();
        make_workflow();
        make_queue("mail");
        const std::string series = "generate_series(1, " + std::to_string(rows) + ") i";
        const std::string at = "timestamptz '2020-01-01 UTC' + i * interval '1 second'";
        database()->run(
            "insert into " + place().table("runs") +
            " (run_id, workflow_id, status, priority, created_at, updated_at, completed_at, input, "
            "error) select i, w.workflow_id, case i % 100 when 0 then 'SUCCESS' else 'ERROR' end, "
            "0, " +
            at + ", " + at + ", " + at + ", '1', case when i % 100 > 0 then '{}' end from " +
            place().table("workflows") + " w, " + series
        );
        database()->run(
            "insert into " + place().table("steps") +
            " (run_id, step_id, position, status, attempt, delivery) select i, 's' || n, n, "
            "'SUCCESS', 1, 1 from generate_series(1, 3) n, " +
            series
        );
        database()->run(
            "insert into " + place().table("archive") +
            " select i, q.queue_id, 0, 1, 0, 0, i % 100 > 0, null, " + at + ", " + at +
            ", null, '1' from " + place().table("queues") + " q, " + series +
            " where q.name = 'mail'"
        );
    }
    [[nodiscard]] long rows_read(const std::string& kind, const std::string& name) const {
        const auto session = database();
        const auto counted = [&] {
            return session->number(
                "select sum(pg_stat_get_xact_tuples_returned(c.oid)) from pg_class c where "
                "c.relnamespace = '" +
                place().schema() +
                "'::regnamespace and c.relkind in ('r', 'i') and c.relname !~ '^(queues|retention)'"
            );
        };
        session->run("begin");
        session->run("select " + place().schema() + ".plan_prune()");
        const long before = counted();
        EXPECT_EQ(
            session->number(
                "select pruned from " + place().schema() + ".prune_batch('" + kind +
                "', (select queue_id from " + place().table("queues") + " where name = '" + name +
                "'), max_rows => 50)"
            ),
            50
        );
        const long read = counted() - before;
        session->run("rollback");
        return read;
    }
};
INSTANTIATE_TEST_SUITE_P(, PrunePlanTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(PrunePlanTest, a_batch_reads_few_rows_among_many_that_are_kept) {
    store().set_retention(RetentionKind::success, "job", {.age = 1s, .count = 100});
    store().set_retention(RetentionKind::failed, "job", {.age = 1s});
    store().set_retention(RetentionKind::archive, "mail", {.age = 1s, .count = 100});
    store().set_retention(RetentionKind::dead_letters, "mail", {.age = 1s});
    const auto expect_cheap = [&] {
        for (const std::string kind : {"success", "failed"})
            EXPECT_LT(rows_read(kind, "job"), 50 * 15) << kind;
        for (const std::string kind : {"archive", "dead-letters"})
            EXPECT_LT(rows_read(kind, "mail"), 50 * 6) << kind;
    };
    expect_cheap();
    for (const std::string table : {"runs", "steps", "archive"})
        database()->run("analyze " + place().table(table));
    expect_cheap();
}

TEST_P(PrunePlanTest, a_run_that_is_locked_is_left_to_the_next_pass) {
    store().set_retention(RetentionKind::success, "job", {.age = 1s});
    const auto holder = database();
    holder->run("begin");
    holder->run("select from " + place().table("runs") + " where run_id = 100 for key share");
    EXPECT_EQ(store().prune({.share = 100}).total(), rows / 100 - 1);
    holder->run("rollback");
    EXPECT_EQ(store().prune({.share = 100}).total(), 1);
}

TEST_P(PrunePlanTest, a_workflow_that_is_being_deleted_is_left_alone) {
    store().set_retention(RetentionKind::success, "job", {.age = 1s});
    const auto deleter = database();
    deleter->run("begin");
    deleter->run("select " + place().schema() + ".delete_workflow('job')");
    EXPECT_EQ(store().prune({.share = 100}).total(), 0) << "and does not wait";
    deleter->run("commit");
    EXPECT_EQ(store().prune({.share = 100}).total(), 0);
}

}  // namespace
}  // namespace pawl::test
