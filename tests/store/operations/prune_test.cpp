// How pruning works: in batches, beside others, and with interruptions.
#include <atomic>
#include <fmt/format.h>
#include <thread>

#include "engine/prune_pass.h"
#include "support/retention_test.h"

namespace pawl::test {
namespace {

using seam::PruneBatch;
using seam::PrunedBatch;
using seam::PruneTurn;

class PruneTest : public RetentionTest {
protected:
    // By one statement: as many as a test wants. Half of them failures, one microsecond apart.
    void make_ended_runs(int runs) const {
        const std::string id = std::to_string(store().workflow("job").queue.value());
        const std::string numbers =
            on_postgres()
                ? "generate_series(1, " + std::to_string(runs) + ") i"
                : "(with recursive n (i) as (select 1 union all select i + 1 from n where i < " +
                      std::to_string(runs) + ") select i from n)";
        const std::string at =
            on_postgres() ? "timestamptz '2020-01-01 UTC' + i * interval '1 microsecond'" : "i";
        database()->run(
            "insert into " + place().table("runs") +
            " (run_id, workflow_id, status, priority, created_at, updated_at, completed_at, "
            "input, error) select 1000000 + i, " +
            id + ", case i % 2 when 0 then 'SUCCESS' else 'ERROR' end, 0, " + at + ", " + at +
            ", " + at + ", '1', case i % 2 when 1 then '{}' end from " + numbers
        );
        database()->run(
            "insert into " + place().table("steps") +
            " (run_id, step_id, position, status, attempt, delivery) select run_id, 'a', 0, "
            "'SUCCESS', 1, 1 from " +
            place().table("runs")
        );
    }
    [[nodiscard]] PruneBatch batch_of(RetentionKind kind, int max_rows) const {
        PruneBatch batch;
        batch.kind = kind;
        batch.queue = store().workflow("job").queue;
        batch.max_rows = max_rows;
        return batch;
    }
};
PAWL_FOR_EACH_BACKEND(PruneTest);

TEST_P(PruneTest, it_takes_as_many_batches_as_it_needs) {
    make_ended_runs(1000);
    keep(RetentionKind::success, "job", {.age = one_day});
    EXPECT_EQ(prune(7), (Counts{{"success", 500}}));
    EXPECT_EQ(count("runs"), 500);
    EXPECT_EQ(count("steps"), 500);
    EXPECT_EQ(count("runs", "status = 'SUCCESS'"), 0);
}

TEST_P(PruneTest, a_batch_says_where_the_next_one_goes_on) {
    make_ended_runs(10);
    keep(RetentionKind::failed, "job", {.age = one_day});
    auto& backend = *store().backend();
    PruneBatch batch = batch_of(RetentionKind::failed, 2);
    PrunedBatch done = backend.prune_batch(batch);
    EXPECT_EQ(done.looked, 2);
    EXPECT_EQ(done.pruned, 2);
    EXPECT_EQ(done.last.id, 1000003);
    batch.after = done.last;
    batch.max_rows = 100;
    done = backend.prune_batch(batch);
    EXPECT_EQ(done.looked, 3);
    EXPECT_EQ(done.last.id, 1000009);
    EXPECT_EQ(count("runs"), 5);
}

TEST_P(PruneTest, what_stays_is_passed_over_and_does_not_end_the_pass) {
    make_ended_runs(20);
    const RunId parent = trigger();
    database()->run(
        "update " + place().table("runs") + fmt::format(" set parent_run_id = {}", parent.value()) +
        " where run_id between 1000001 and 1000010"
    );
    keep(RetentionKind::success, "job", {.age = one_day});
    EXPECT_EQ(prune(2), (Counts{{"success", 5}}));
    EXPECT_EQ(count("runs", "status = 'SUCCESS'"), 5);
    store().cancel(parent, "enough");
    EXPECT_EQ(prune(2), (Counts{{"success", 5}}));
}

TEST_P(PruneTest, an_interrupted_pass_loses_nothing_and_the_next_goes_on) {
    make_ended_runs(100);
    keep(RetentionKind::success, "job", {.age = one_day});
    keep(RetentionKind::failed, "job", {.age = one_day});
    {
        engine::PrunePass pass(*store().backend(), {.batch_rows = 10});
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass.step());
    }
    EXPECT_LT(count("runs"), 100);
    EXPECT_GT(count("runs"), 50);
    EXPECT_EQ(count("runs"), count("steps"));
    const auto left = count("runs");
    const auto pruned = prune(10);
    EXPECT_EQ(pruned.at("success") + pruned.at("failed"), left);
    EXPECT_EQ(count("runs"), 0);
}

TEST_P(PruneTest, two_pruners_at_once_remove_each_run_once) {
    make_ended_runs(2000);
    keep(RetentionKind::success, "job", {.age = one_day});
    const Store other = open();
    std::atomic<std::int64_t> pruned = 0;
    const auto prune_all = [&pruned](const Store& store) {
        pruned += store.prune({.batch_rows = 50, .share = 100}).total();
    };
    {
        const std::jthread beside([&] { prune_all(other); });
        prune_all(store());
    }
    prune_all(store());  // what both have left to each other
    EXPECT_EQ(pruned, 1000);
    EXPECT_EQ(count("runs"), 1000);
}

TEST_P(PruneTest, work_goes_on_beside_it) {
    make_ended_runs(2000);
    keep(RetentionKind::success, "job", {.age = one_day});
    std::jthread beside([&] { store().prune({.batch_rows = 20, .share = 100}); });
    std::vector<RunId> mine;
    for (int i = 0; i < 20; ++i) mine.push_back(succeed());
    beside.join();
    for (const RunId run : mine) EXPECT_TRUE(exists(run));
    EXPECT_EQ(count("runs", "status = 'SUCCESS'"), 20);
}

TEST_P(PruneTest, a_policy_that_is_taken_back_stops_a_pass_under_way) {
    make_ended_runs(100);
    keep(RetentionKind::success, "job", {.age = one_day});
    engine::PrunePass pass(*store().backend(), {.batch_rows = 10});
    while (count("runs") == 100) ASSERT_TRUE(pass.step());
    keep(RetentionKind::success, "job", {});
    while (pass.step()) continue;
    EXPECT_EQ(count("runs"), 90);
}

TEST_P(PruneTest, events_that_were_looked_through_are_not_looked_through_again) {
    make_ended_runs(100);
    keep(RetentionKind::events, "job", {.age = one_day});
    auto& backend = *store().backend();
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 60);
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 41)
        << "the last one may have had others of its moment";
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 0);
    keep(RetentionKind::events, "job", {.age = 2 * one_day});
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 60) << "anew";
}

TEST_P(PruneTest, the_turn_is_given_to_one_per_interval) {
    auto& backend = *store().backend();
    const Store other = open();
    EXPECT_TRUE(backend.claim_prune(10min, PruneTurn::next).granted);
    const auto refused = other.backend()->claim_prune(10min, PruneTurn::next);
    EXPECT_FALSE(refused.granted);
    EXPECT_EQ(refused.wait, Duration(10min));
    advance(9min);
    EXPECT_TRUE(backend.claim_prune(10min, PruneTurn::keep).granted);
    advance(9min);
    EXPECT_EQ(other.backend()->claim_prune(10min, PruneTurn::next).wait, Duration(1min));
    advance(1min);
    EXPECT_TRUE(other.backend()->claim_prune(10min, PruneTurn::next).granted);
    EXPECT_TRUE(other.backend()->claim_prune(0ms, PruneTurn::keep).granted) << "handed back";
    EXPECT_TRUE(backend.claim_prune(10min, PruneTurn::next).granted);
}

}  // namespace
}  // namespace pawl::test
