// Pruning: in batches, concurrently with others, and with interruptions.
#include <atomic>
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
    // Half of them failures, one microsecond apart.
    void make_ended_runs(int count) const { kit().add_ended_runs(ended_runs(count)); }
    static EndedRuns ended_runs(int count) {
        return {
            .count = count,
            .apart = std::chrono::microseconds(1),
            .ends = EndedRuns::Ends::error_and_success,
            .steps = 1};
    }
    [[nodiscard]] PruneBatch batch_of(RetentionKind kind, int max_rows) const {
        PruneBatch batch;
        batch.kind = kind;
        batch.queue = store().workflow_info("job").queue;
        batch.max_rows = max_rows;
        return batch;
    }
};
PAWL_FOR_EACH_BACKEND(PruneTest);

TEST_P(PruneTest, it_takes_as_many_batches_as_it_needs) {
    make_ended_runs(1000);
    keep(RetentionKind::success, "job", {.age = one_day});
    EXPECT_EQ(prune(7), (Counts{{"success", 500}}));
    EXPECT_EQ(count(Rows::runs), 500);
    EXPECT_EQ(count(Rows::steps), 500);
    EXPECT_EQ(store().count_runs().success, 0);
}

TEST_P(PruneTest, a_batch_returns_where_the_next_one_continues) {
    make_ended_runs(10);
    keep(RetentionKind::failed, "job", {.age = one_day});
    auto& backend = *detail::Access::backend(store());
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
    EXPECT_EQ(count(Rows::runs), 5);
}

TEST_P(PruneTest, rows_that_stay_are_skipped_and_do_not_end_the_pass) {
    EndedRuns children = ended_runs(10);
    children.parent = trigger();
    kit().add_ended_runs(children);
    EndedRuns others = ended_runs(10);
    others.first_id = RunId(1'000'011);
    kit().add_ended_runs(others);
    keep(RetentionKind::success, "job", {.age = one_day});
    EXPECT_EQ(prune(2), (Counts{{"success", 5}}));
    EXPECT_EQ(store().count_runs().success, 5);
    store().cancel(children.parent, "enough");
    EXPECT_EQ(prune(2), (Counts{{"success", 5}}));
}

TEST_P(PruneTest, an_interrupted_pass_loses_nothing_and_the_next_continues) {
    make_ended_runs(100);
    keep(RetentionKind::success, "job", {.age = one_day});
    keep(RetentionKind::failed, "job", {.age = one_day});
    {
        engine::PrunePass pass(*detail::Access::backend(store()), {.batch_rows = 10});
        for (int i = 0; i < 3; ++i) ASSERT_TRUE(pass.step());
    }
    EXPECT_LT(count(Rows::runs), 100);
    EXPECT_GT(count(Rows::runs), 50);
    EXPECT_EQ(count(Rows::runs), count(Rows::steps));
    const auto left = count(Rows::runs);
    const auto pruned = prune(10);
    EXPECT_EQ(pruned.at("success") + pruned.at("failed"), left);
    EXPECT_EQ(count(Rows::runs), 0);
}

TEST_P(PruneTest, two_concurrent_pruners_remove_each_run_once) {
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
    prune_all(store());  // rows that both have skipped
    EXPECT_EQ(pruned, 1000);
    EXPECT_EQ(count(Rows::runs), 1000);
}

TEST_P(PruneTest, work_continues_during_a_pass) {
    make_ended_runs(2000);
    keep(RetentionKind::success, "job", {.age = one_day});
    std::jthread beside([&] { store().prune({.batch_rows = 20, .share = 100}); });
    std::vector<RunId> mine;
    for (int i = 0; i < 20; ++i) mine.push_back(succeed());
    beside.join();
    for (const RunId run : mine) EXPECT_TRUE(exists(run));
    EXPECT_EQ(store().count_runs().success, 20);
}

TEST_P(PruneTest, a_policy_that_is_taken_back_stops_a_pass_under_way) {
    make_ended_runs(100);
    keep(RetentionKind::success, "job", {.age = one_day});
    engine::PrunePass pass(*detail::Access::backend(store()), {.batch_rows = 10});
    while (count(Rows::runs) == 100) ASSERT_TRUE(pass.step());
    keep(RetentionKind::success, "job", {});
    while (pass.step()) continue;
    EXPECT_EQ(count(Rows::runs), 90);
}

TEST_P(PruneTest, events_that_were_checked_are_not_checked_again) {
    make_ended_runs(100);
    keep(RetentionKind::events, "job", {.age = one_day});
    auto& backend = *detail::Access::backend(store());
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 60);
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 41)
        << "the last one may have had others of its moment";
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 0);
    keep(RetentionKind::events, "job", {.age = 2 * one_day});
    EXPECT_EQ(backend.prune_batch(batch_of(RetentionKind::events, 60)).looked, 60) << "anew";
}

TEST_P(PruneTest, the_turn_is_given_to_one_per_interval) {
    auto& backend = *detail::Access::backend(store());
    const Store other = open();
    EXPECT_TRUE(backend.claim_prune(10min, PruneTurn::next).granted);
    const auto refused = detail::Access::backend(other)->claim_prune(10min, PruneTurn::next);
    EXPECT_FALSE(refused.granted);
    EXPECT_EQ(refused.wait, Duration(10min));
    advance(9min);
    EXPECT_TRUE(backend.claim_prune(10min, PruneTurn::keep).granted);
    advance(9min);
    EXPECT_EQ(
        detail::Access::backend(other)->claim_prune(10min, PruneTurn::next).wait, Duration(1min)
    );
    advance(1min);
    EXPECT_TRUE(detail::Access::backend(other)->claim_prune(10min, PruneTurn::next).granted);
    EXPECT_TRUE(detail::Access::backend(other)->claim_prune(0ms, PruneTurn::keep).granted)
        << "handed back";
    EXPECT_TRUE(backend.claim_prune(10min, PruneTurn::next).granted);
}

}  // namespace
}  // namespace pawl::test
