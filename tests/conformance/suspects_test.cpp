// Runs that came back twice without a report: executed when nothing else is in the process.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SuspectsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
        make_workflow();
        make_workflow("long", {.lease = 10h});
    }
    // It was handed out twice; it can be claimed when a minute has passed.
    [[nodiscard]] RunId trigger_suspect() const {
        const RunId run = trigger("job", Json{"true"});
        (void)claim_one();
        advance(1min);
        (void)claim_one();
        return run;
    }
    [[nodiscard]] Worker worker_with_both() {
        return worker("w")
            .handle(
                "long",
                [this](Context&) {
                    ++inside;
                    started.count_down();
                    go.wait();
                    --inside;
                }
            )
            .handle(
                "job",
                [this](Context&, bool suspect) {
                    if (suspect && inside++ == 0) ++alone;
                    if (!suspect) ++inside;
                    ++executed;
                    --inside;
                }
            )
            .share_threads(shares_threads())
            .poll_interval(50ms)
            .create(store());
    }

    std::latch started{1};
    std::latch go{1};
    std::atomic<int> inside = 0;
    std::atomic<int> alone = 0;
    std::atomic<int> executed = 0;
};
PAWL_FOR_EACH_BACKEND(SuspectsTest);

TEST_P(SuspectsTest, a_busy_worker_gives_a_suspect_back_without_a_strike_and_goes_on) {
    const RunId suspect = trigger_suspect();
    const RunId other = trigger("long");
    auto made = worker_with_both();
    made.start();
    started.wait();
    advance(1min);
    EXPECT_TRUE(eventually([&] { return info(suspect).delivery > 2; })) << "it was claimed";
    for (const RunId run : {trigger("job", Json{"false"}), trigger("job", Json{"false"})})
        EXPECT_TRUE(finished(run)) << "there are free threads";
    EXPECT_TRUE(eventually([&] { return info(suspect).delivery >= 5; }));
    EXPECT_LE(info(suspect).strikes, 3) << "hand-outs that were not executed do not count";
    EXPECT_EQ(status(suspect), RunStatus::running);
    EXPECT_EQ(alone, 0);
    go.count_down();
    EXPECT_TRUE(finished(suspect));
    EXPECT_EQ(status(suspect), RunStatus::success);
    EXPECT_EQ(alone, 1);
    EXPECT_TRUE(finished(other));
}

TEST_P(SuspectsTest, an_idle_worker_executes_a_suspect_at_once) {
    const RunId suspect = trigger_suspect();
    advance(1min);
    auto made = worker_with_both();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(suspect), RunStatus::success);
    EXPECT_EQ(alone, 1);
}

TEST_P(SuspectsTest, a_suspect_that_is_claimed_beside_others_waits_for_them) {
    auto made = worker_with_both();
    made.start();
    // On PostgreSQL a claim looks for ready runs first when it has looked for due ones just before.
    const RunId first = trigger("job", Json{"false"});
    ASSERT_TRUE(finished(first));
    const RunId suspect = trigger("job", Json{"true"}, {.delay = 1h});
    const RunId other = trigger("long", {}, {.delay = 1h});
    const std::string now = "(select visible_at - " +
                            std::string(on_postgres() ? "interval '1 hour'" : "3600000000") +
                            " from " + place().table("messages") +
                            " where message_id = " + std::to_string(other.value()) + ")";
    database()->run(
        "update " + place().table("messages") + " set visible_at = " + now +
        ", state = case when message_id = " + std::to_string(other.value()) +
        " then 'ready' else 'waiting' end, strikes = case when message_id = " +
        std::to_string(other.value()) + " then 0 else 2 end"
    );
    // On SQLite, and wherever due runs are looked for first, the suspect comes before the other.
    started.wait();
    if (status(suspect) != RunStatus::success) {
        EXPECT_TRUE(eventually([&] { return info(suspect).delivery >= 2; }));
        EXPECT_EQ(alone, 0);
    }
    go.count_down();
    EXPECT_TRUE(finished(suspect));
    EXPECT_EQ(alone, 1) << "nothing else was executed with it";
    EXPECT_TRUE(finished(other));
}

TEST_P(SuspectsTest, a_worker_that_always_has_other_work_gets_to_a_suspect_some_time) {
    make_workflow("busy", {.lease = 10h});
    const RunId suspect = trigger_suspect();
    std::atomic<int> count = 0;
    std::atomic<bool> done = false;
    auto made =
        worker("w")
            .handle(
                "busy",
                [&](Context&) {
                    const int mine = ++count;
                    if (done) return;
                    (void)trigger("busy");
                    // Until the next one is there too, unless the worker claims no more.
                    const auto until = std::chrono::steady_clock::now() + 200ms;
                    (void)eventually([&] {
                        return count > mine || done || std::chrono::steady_clock::now() > until;
                    });
                }
            )
            .handle("job", [&](Context&, bool) { done = true; })
            .share_threads(shares_threads())
            .create(store());
    (void)trigger("busy");
    made.start();
    EXPECT_TRUE(eventually([&] { return count > 0; }));
    advance(1min);
    EXPECT_TRUE(finished(suspect));
    EXPECT_EQ(status(suspect), RunStatus::success);
    EXPECT_GT(count, 2);
    done = true;
}

TEST_P(SuspectsTest, a_worker_that_stops_gives_its_suspect_back) {
    const RunId suspect = trigger_suspect();
    (void)trigger("long");
    auto made = worker_with_both();
    made.start();
    started.wait();
    advance(1min);
    EXPECT_TRUE(eventually([&] { return info(suspect).delivery > 2; }));
    std::jthread release([&] { go.count_down(); });
    made.stop(30s);
    EXPECT_TRUE(status(suspect) == RunStatus::success || info(suspect).strikes == 2);
}

}  // namespace
}  // namespace pawl::test
