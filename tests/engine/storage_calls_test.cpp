// The database calls of a run: one commit per step, none for a replayed step, and one batch for all
// heartbeats.
#include <atomic>
#include <latch>
#include <pawl/json.h>

#include "base/crash_point.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

std::atomic<int> calls_of_workers;
thread_local bool is_the_test = false;

class StorageCallsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        is_the_test = true;
        calls_of_workers = 0;
        base::crash_hook = [] {
            if (!is_the_test) ++calls_of_workers;
        };
    }
    void TearDown() override {
        base::crash_hook = nullptr;
        WorkflowTest::TearDown();
    }
    // The number of hook calls per commit.
    [[nodiscard]] int calls_of_a_commit() const {
        make_workflow("measured");
        const Held held = trigger_and_claim("measured");
        // The check for a live worker runs on a separate thread and calls the store.
        EXPECT_TRUE(eventually([&] {
            return log_text().find("'measured' has no live worker") != std::string::npos;
        }));
        const int before = calls_of_workers;
        is_the_test = false;
        (void)commit(checkpoint(held.lease(), "a", 1));
        is_the_test = true;
        return calls_of_workers - before;
    }
    [[nodiscard]] Worker quiet_worker(int steps, std::atomic<int>& executed) const {
        return worker("w")
            .handle(
                "job",
                [steps, &executed](Context& ctx) {
                    for (int i = 0; i < steps; ++i) ctx.step("s", [&] { ++executed; });
                    if (ctx.delivery() == 1) throw TransientError("once more", 0ms);
                }
            )
            .housekeeping(false)
            .create(store());
    }
    // The first execution of a run with that many steps, and the second one, which replays them.
    [[nodiscard]] std::pair<int, int> calls_of_a_run(int steps) const {
        const RunId run = trigger();
        std::atomic<int> executed = 0;
        auto made = quiet_worker(steps, executed);
        const auto polled = [&] {
            const int before = calls_of_workers;
            is_the_test = false;
            made.poll_once();
            is_the_test = true;
            return calls_of_workers - before;
        };
        const int first = polled();
        const int second = polled();
        EXPECT_EQ(status(run), RunStatus::success);
        EXPECT_EQ(executed, steps);
        return {first, second};
    }
};
PAWL_FOR_EACH_BACKEND(StorageCallsTest);

TEST_P(StorageCallsTest, a_step_is_one_commit_and_its_replay_nothing) {
    make_workflow();
    const int of_a_commit = calls_of_a_commit();
    ASSERT_GT(of_a_commit, 0);
    const auto [first_short, second_short] = calls_of_a_run(10);
    const auto [first_long, second_long] = calls_of_a_run(310);
    // Other threads also call the store, for wake-ups and heartbeats, and may do so during either.
    const int slack = 30 * of_a_commit;
    EXPECT_GE(first_long - first_short, 300 * of_a_commit - slack);
    EXPECT_LE(first_long - first_short, 300 * of_a_commit + slack);
    EXPECT_LE(second_long, second_short + slack);
}

TEST_P(StorageCallsTest, the_heartbeats_of_all_runs_are_one_batch) {
    constexpr int runs = 30;
    freeze();
    make_workflow("job", {.lease = 3s});
    const int of_a_commit = calls_of_a_commit();
    std::latch started(runs);
    std::latch go(1);
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context&) {
                            started.count_down();
                            go.wait();
                        }
                    )
                    .concurrency(runs)
                    .housekeeping(false)
                    .poll_interval(1h)
                    .create(store());
    (void)trigger_many(runs);
    made.start();
    started.wait();
    const auto began = std::chrono::steady_clock::now();
    calls_of_workers = 0;
    // Two heartbeats: each extends every lease to the same time.
    for (int beat = 1; beat <= 2; ++beat) {
        advance(500ms);
        EXPECT_TRUE(eventually([&] {
            const Timestamp wanted = start + Duration(500ms) * beat + 3s;
            int extended = 0;
            for (const Message& message :
                 store().queue("job").list(MessageState::leased, {.limit = 1'000}))
                if (message.visible_at == wanted) ++extended;
            return extended == runs;
        }));
    }
    const auto passed = std::chrono::steady_clock::now() - began;
    const auto beats = passed / std::chrono::seconds(1) + 2;
    // A heartbeat is at most two calls, and the changed clock wakes the claimer, which polls.
    EXPECT_LE(calls_of_workers, of_a_commit * (2 * beats + 10));
    go.count_down();
}

}  // namespace
}  // namespace pawl::test
