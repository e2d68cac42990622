// Runs over a connection that breaks between a commit and its answer.
#include <atomic>
#include <pawl/json.h>
#include <set>
#include <thread>

#include "support/far_store_test.h"

namespace pawl::test {
namespace {

class RunGateTest : public FarStoreTest {
protected:
    void SetUp() override {
        FarStoreTest::SetUp();
        make_workflow();
    }
};
INSTANTIATE_TEST_SUITE_P(, RunGateTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(RunGateTest, a_trigger_whose_answer_is_lost_is_in_doubt_and_not_repeated) {
    gate().lose_answer_to("trigger_one");
    const Error error = error_of([&] { workflow("job").trigger().execute(far()); });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.in_doubt());
    EXPECT_EQ(store().count_runs().queued, 1) << "it had been committed, once";
}

TEST_P(RunGateTest, with_a_key_it_is_safe_to_trigger_again) {
    gate().lose_answer_to("trigger_batch");
    const auto keyed = workflow("job").trigger().idempotency_key("k");
    try {
        keyed.execute(far());
    } catch (const Error& error) {
        EXPECT_TRUE(error.in_doubt());
    }
    keyed.execute(far());
    EXPECT_EQ(gate().lost(), 1);
    EXPECT_EQ(store().count_runs().queued, 1);
}

TEST_P(RunGateTest, every_write_of_a_run_whose_answer_is_lost_is_repeated_and_done_once) {
    std::atomic<int> first = 0;
    std::atomic<int> second = 0;
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("first", [&] { ++first; });
                            return ctx.step("second", [&] {
                                if (++second == 1) throw TransientError("once more", 0ms);
                                return 2;
                            });
                        }
                    )
                    .create(far());
    for (const auto* text : {"record_step", "suspend_runs", "finish_run"}) {
        SCOPED_TRACE(text);
        first = 0;
        second = 0;
        const int before = gate().lost();
        gate().lose_answer_to(text);
        const RunId run = trigger();
        for (int i = 0; i < 20 && !is_finished(status(run)); ++i) made.poll_once();
        EXPECT_EQ(gate().lost(), before + 1);
        EXPECT_EQ(info(run).output, Json{"2"});
        EXPECT_EQ(first, 1);
        EXPECT_EQ(second, 2);
        EXPECT_EQ(info(run).delivery, 2);
        EXPECT_EQ(step(run, "second").attempt, 2);
    }
}

TEST_P(RunGateTest, a_worker_finishes_every_run_over_a_line_that_breaks_all_the_time) {
    (void)trigger_many(40);
    auto made = worker("w")
                    .handle(
                        "job",
                        [](Context& ctx) {
                            ctx.step("first", [] {});
                            return ctx.step("second", [] { return 2; });
                        }
                    )
                    .lease(500ms)
                    .create(far());
    made.start();
    for (const auto* text : {"record_step", "claim", "finish_run", "heartbeat", "record_step"}) {
        const int before = gate().lost();
        gate().lose_answer_to(text);
        (void)trigger();
        EXPECT_TRUE(eventually([&] { return gate().lost() > before; })) << text;
    }
    gate().drop_connections();
    EXPECT_TRUE(eventually([&] { return store().count_runs().success == 45; }));
    EXPECT_EQ(store().count_runs().error, 0);
    EXPECT_EQ(kit().count(Word::step_status, "SUCCESS"), 90);
}

TEST_P(RunGateTest, a_waiter_survives_the_loss_of_its_connection) {
    const RunId run = trigger();
    std::jthread operator_thread([&] {
        gate().drop_connections();
        commit(success(claim_one().lease(), "5"));
    });
    EXPECT_EQ(far().run(run).wait<int>(30s), 5);
}

TEST_P(RunGateTest, a_step_whose_message_is_locked_is_recorded_completely_when_it_is_free) {
    const RunId run = trigger();
    const auto lock = database();
    std::jthread release;
    // Until the worker's connections have been busy for a few rounds.
    const auto wait_and_release = [&] {
        const auto watch = database();
        std::set<std::string> changes;
        (void)eventually([&] {
            for (const Row& row : watch->rows(
                     "select state_change from pg_stat_activity where pid <> pg_backend_pid() and "
                     "datname = current_database()"
                 ))
                changes.insert(row.front());
            return changes.size() > 4;
        });
        lock->run("commit");
    };
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("a", [&] {
            lock->run("begin");
            lock->run(
                "select 1 from " + place().table("messages") +
                " where message_id = " + std::to_string(run.value()) + " for update"
            );
            release = std::jthread(wait_and_release);
            return 7;
        });
    });
    made.poll_once();
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"a"});
    EXPECT_EQ(step(run, "a").output, Json{"7"});
    EXPECT_EQ(info(run).output, Json{"7"});
}

}  // namespace
}  // namespace pawl::test
