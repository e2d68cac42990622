// The pruner inside a worker: it prunes by itself when its turn has come.
#include "runtime/services/pruner.h"

#include "support/retention_test.h"

namespace pawl::test {
namespace {

class PrunerTest : public RetentionTest {
protected:
    // A short interval, because a test sets the clock and the worker must notice it soon.
    [[nodiscard]] ConnectOptions options() const override {
        ConnectOptions often = RetentionTest::options();
        often.prune_interval = 20ms;
        return often;
    }
    [[nodiscard]] Worker make_worker() const {
        return worker_for([](Context&) {});
    }
    // The next turn is by the store's clock.
    [[nodiscard]] bool gone(RunId run) const {
        return eventually([&] {
            advance(1s);
            return !exists(run);
        });
    }
};
PAWL_FOR_EACH_BACKEND(PrunerTest);

TEST_P(PrunerTest, a_worker_prunes_what_has_become_old) {
    keep(RetentionKind::success, "job", {.age = one_day});
    const RunId first = succeed();
    Worker worker = make_worker();
    worker.start();
    advance(one_day);
    EXPECT_TRUE(gone(first));
    const RunId second = trigger();
    EXPECT_TRUE(eventually([&] { return status(second) == RunStatus::success; }));
    advance(one_day);
    EXPECT_TRUE(gone(second));
}

TEST_P(PrunerTest, poll_once_does_a_batch) {
    keep(RetentionKind::success, "job", {.age = one_day});
    const RunId run = succeed();
    Worker worker = make_worker();
    advance(one_day);
    // One batch each: of soft-deleted runs, of workers, of the successes.
    for (int i = 0; i < 3; ++i) EXPECT_EQ(worker.poll_once(), 0);
    EXPECT_FALSE(exists(run));
}

TEST_P(PrunerTest, without_housekeeping_or_interval_nothing_is_pruned) {
    keep(RetentionKind::success, "job", {.age = 0s});
    const RunId run = succeed();
    auto without =
        pawl::worker("w").handle("job", [](Context&) {}).housekeeping(false).create(store());
    ConnectOptions never = options();
    never.prune_interval = 0ms;
    auto second =
        pawl::worker("w2").handle("job", [](Context&) {}).create(connect(place().url(), never));
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(without.poll_once(), 0);
        EXPECT_EQ(second.poll_once(), 0);
    }
    EXPECT_TRUE(exists(run));
}

TEST_P(PrunerTest, it_pauses_longer_during_live_work_and_waits_for_its_next_turn) {
    keep(RetentionKind::success, "job", {.age = 0s});
    (void)succeed();
    ConnectOptions seldom = options();
    seldom.prune_interval = 10min;
    const Store slow = connect(place().url(), seldom);
    bool busy = true;
    runtime::Pruner pruner(*detail::Access::backend(slow), [&] { return busy; });
    EXPECT_GE(pruner.run_batch(), Duration(1ms)) << "the soft-deleted ones";
    EXPECT_GE(pruner.run_batch(), Duration(1ms)) << "the workers";
    busy = false;
    EXPECT_GE(pruner.run_batch(), Duration(1ms)) << "the successes";
    EXPECT_EQ(count(Rows::runs), 0);
    EXPECT_EQ(pruner.run_batch(), Duration(10min)) << "it is through";
    EXPECT_EQ(pruner.run_batch(), Duration(10min)) << "not its turn";
    advance(4min);
    EXPECT_EQ(pruner.run_batch(), Duration(6min));
    advance(6min);
    EXPECT_LT(pruner.run_batch(), Duration(6min)) << "its turn again";
}

TEST_P(PrunerTest, one_that_stops_hands_its_turn_to_another) {
    keep(RetentionKind::success, "job", {.age = 0s});
    const RunId run = succeed();
    ConnectOptions seldom = options();
    seldom.prune_interval = 10min;
    const Store slow = connect(place().url(), seldom);
    const auto idle = [] { return false; };
    {
        runtime::Pruner first(*detail::Access::backend(slow), idle);
        first.run_batch();  // in the middle of a pass
    }
    EXPECT_TRUE(exists(run));
    runtime::Pruner second(*detail::Access::backend(slow), idle);
    for (int i = 0; i < 3; ++i) second.run_batch();
    EXPECT_FALSE(exists(run));
}

TEST_P(PrunerTest, start_and_stop_are_idempotent) {
    runtime::ServiceTimer timer(detail::Access::backend(store())->log());
    runtime::Pruner pruner(*detail::Access::backend(store()), [] { return false; });
    pruner.stop();
    pruner.start(timer);
    pruner.start(timer);
    pruner.stop();
    pruner.stop();
    keep(RetentionKind::success, "job", {.age = 0s});
    const RunId run = succeed();
    pruner.start(timer);
    EXPECT_TRUE(gone(run));
    pruner.stop();
}

}  // namespace
}  // namespace pawl::test
