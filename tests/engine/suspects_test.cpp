// Runs that were delivered twice without a report: executed alone, as far as that is possible soon.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "runtime/suspect_policy.h"
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
    // It was delivered twice; it can be claimed after a minute.
    [[nodiscard]] RunId trigger_suspect() const {
        const RunId run = trigger("job", Json{"true"});
        (void)claim_one();
        advance(1min);
        (void)claim_one();
        return run;
    }
    [[nodiscard]] Worker worker_with_both(int concurrency = 16) {
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
            .concurrency(concurrency)
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

TEST_P(SuspectsTest, a_body_that_does_not_return_holds_up_neither_suspects_nor_others) {
    std::vector<RunId> suspects;
    for (int i = 0; i < 3; ++i) suspects.push_back(trigger("job", Json{"true"}));
    for (int i = 0; i < 2; ++i) {
        while (!claim().messages.empty()) continue;
        advance(1min);
    }
    (void)trigger("long");
    auto made = worker_with_both(8);
    made.start();
    started.wait();
    for (const RunId run : suspects) {
        EXPECT_TRUE(finished(trigger("job", Json{"false"})));
        EXPECT_TRUE(finished(run));
        EXPECT_EQ(status(run), RunStatus::success);
        EXPECT_EQ(info(run).strikes, 0);
    }
    EXPECT_EQ(executed, 6);
    EXPECT_EQ(inside, 1) << "the body is still there";
    go.count_down();
}

TEST_P(SuspectsTest, a_worker_whose_threads_are_all_taken_has_a_slot_for_a_suspect) {
    const RunId suspect = trigger_suspect();
    (void)trigger("long");
    auto made = worker_with_both(2);
    made.start();
    started.wait();
    (void)trigger("long");
    EXPECT_TRUE(eventually([&] { return inside == 2; }));
    // There is no room for a claim now, but the run claimed before has a slot.
    advance(1min);
    go.count_down();
    EXPECT_TRUE(finished(suspect));
}

TEST_P(SuspectsTest, nothing_new_is_started_with_a_suspect_for_a_moment) {
    make_workflow("other");
    const RunId suspect = trigger_suspect();
    advance(1min);
    std::atomic<bool> other_started = false;
    std::atomic<bool> beside = false;
    std::atomic<std::chrono::steady_clock::time_point> other_at{};
    auto made = worker("w")
                    .handle(
                        "other",
                        [&](Context&) {
                            other_at = std::chrono::steady_clock::now();
                            other_started = true;
                        }
                    )
                    .handle(
                        "job",
                        [&](Context&, bool) {
                            (void)trigger("other");
                            beside = eventually([&] { return other_started.load(); });
                        }
                    )
                    .share_threads(shares_threads())
                    .poll_interval(50ms)
                    .create(store());
    const auto before = std::chrono::steady_clock::now();
    made.start();
    EXPECT_TRUE(finished(suspect));
    EXPECT_TRUE(beside) << "but not for long";
    EXPECT_GE(other_at.load() - before, runtime::SuspectPolicy::alone_for);
}

TEST_P(SuspectsTest, an_idle_worker_executes_a_suspect_immediately) {
    const RunId suspect = trigger_suspect();
    advance(1min);
    auto made = worker_with_both();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(suspect), RunStatus::success);
    EXPECT_EQ(alone, 1);
}

TEST_P(SuspectsTest, poll_once_executes_all_suspects) {
    std::vector<RunId> suspects;
    for (int i = 0; i < 3; ++i) suspects.push_back(trigger("job", Json{"true"}));
    for (int i = 0; i < 2; ++i) {
        // A claim has at most one suspect.
        while (!claim(10).messages.empty()) {
        }
        advance(1min);
    }
    auto made = worker_with_both();
    EXPECT_EQ(made.poll_once(), 3);
    EXPECT_EQ(executed, 3);
    EXPECT_EQ(alone, 3);
    for (const RunId run : suspects) EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(SuspectsTest, a_suspect_that_is_claimed_with_others_waits_for_them) {
    auto made = worker_with_both();
    made.start();
    // On PostgreSQL a claim searches ready runs first if it has just searched due ones.
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
    // On SQLite, and whenever due runs are searched first, the suspect comes before the other run.
    started.wait();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(eventually([&] { return info(suspect).delivery >= 1; }));
    go.count_down();
    EXPECT_TRUE(finished(suspect));
    const bool waited_in_vain =
        std::chrono::steady_clock::now() - began > runtime::SuspectPolicy::patience * 4 / 5;
    EXPECT_TRUE(alone == 1 || waited_in_vain) << "the other had just begun";
    EXPECT_TRUE(finished(other));
}

TEST_P(SuspectsTest, a_worker_that_always_has_other_work_gets_to_a_suspect) {
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
                    // Until the next one has arrived, unless the worker no longer claims.
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
    EXPECT_TRUE(eventually([&] { return count > 2; }));
    advance(1min);
    EXPECT_TRUE(finished(suspect));
    EXPECT_EQ(status(suspect), RunStatus::success);
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
