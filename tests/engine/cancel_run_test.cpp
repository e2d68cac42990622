// Cancelling the work of a worker, retrying failed runs, and stopping the worker.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class CancelRunTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(CancelRunTest);

TEST_P(CancelRunTest, a_cancelled_run_ends_at_its_next_step) {
    make_workflow();
    const RunId run = trigger();
    const Store other = open();
    std::atomic<int> second = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("first", [] {});
        other.cancel(ctx.run_id(), "not wanted");
        ctx.step("second", [&] { ++second; });
        ctx.step("third", [&] { ++second; });
        return 5;
    });
    made.poll_once();
    EXPECT_LE(second, 1) << "the body may have begun before the worker heard of it";
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::cancelled);
    EXPECT_EQ(error_in(seen.error).message, "not wanted");
    EXPECT_FALSE(seen.output);
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"first"}) << "nothing more is recorded";
}

TEST_P(CancelRunTest, a_result_that_comes_after_the_cancel_is_discarded) {
    make_workflow();
    const RunId run = trigger();
    const Store other = open();
    auto made = worker_for([&](Context& ctx) {
        ctx.step("a", [&] { other.cancel(ctx.run_id(), "not wanted"); });
        return 5;
    });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::cancelled);
    EXPECT_FALSE(info(run).output);
    EXPECT_TRUE(store().run(run).steps().empty());
}

TEST_P(CancelRunTest, a_long_body_is_notified) {
    make_workflow();
    const RunId run = trigger();
    std::latch begun(1);
    std::atomic<bool> told = false;
    std::atomic<bool> cancelled = false;
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("long", [&] {
                                begun.count_down();
                                told =
                                    eventually([&] { return ctx.stop_token().stop_requested(); });
                                cancelled = ctx.cancelled();
                            });
                        }
                    )
                    .heartbeat(50ms)
                    .create(store());
    made.start();
    begun.wait();
    open().cancel(run, "not wanted");
    EXPECT_TRUE(eventually([&] { return cancelled.load(); }));
    EXPECT_TRUE(told);
    made.stop();
    EXPECT_EQ(status(run), RunStatus::cancelled);
    for (const StepInfo& step : store().run(run).steps())
        EXPECT_EQ(step.status, StepStatus::cancelled);
}

TEST_P(CancelRunTest, a_deleted_run_is_taken_from_its_worker_too) {
    make_workflow();
    const RunId run = trigger();
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("long", [&] {
                                begun.count_down();
                                (void)eventually([&] { return ctx.cancelled(); });
                                told = ctx.cancelled();
                            });
                        }
                    )
                    .heartbeat(50ms)
                    .create(store());
    made.start();
    begun.wait();
    open().delete_run(run, "wrong one");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    made.stop();
    EXPECT_EQ(status(run), RunStatus::cancelled);
}

TEST_P(CancelRunTest, a_heartbeat_of_the_body_notices_a_cancel) {
    make_workflow();
    const RunId run = trigger();
    const Store other = open();
    std::atomic<bool> survived = false;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("long", [&] {
            ctx.heartbeat();
            other.cancel(ctx.run_id(), "not wanted");
            ctx.heartbeat();
            survived = true;
        });
    });
    made.poll_once();
    EXPECT_FALSE(survived) << "the function is unwound where the run is not ours any more";
    EXPECT_EQ(status(run), RunStatus::cancelled);
}

TEST_P(CancelRunTest, the_lease_is_extended_while_a_body_runs) {
    make_workflow();
    const RunId run = trigger();
    std::latch begun(1);
    std::latch go(1);
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("long", [&] {
                                begun.count_down();
                                go.wait();
                            });
                            return ctx.delivery();
                        }
                    )
                    .heartbeat(20ms)
                    .create(store());
    made.start();
    begun.wait();
    EXPECT_TRUE(is_extended_twice([&] { return *info(run).visible_at; }));
    go.count_down();
    EXPECT_EQ(store().run(run).wait<int>(30s), 1);
}

TEST_P(CancelRunTest, a_retry_executes_only_what_has_no_result) {
    make_workflow();
    const RunId run = trigger("job", Json{"20"});
    std::map<std::string, int> calls;
    bool broken = true;
    auto made = worker_for([&](Context& ctx, int n) {
        const int a = ctx.step("a", [&] { return ++calls["a"], n + 1; });
        const int b = ctx.step("b", [&] {
            ++calls["b"];
            if (broken) throw PermanentError("no");
            return a * 2;
        });
        return ctx.step("c", [&] { return ++calls["c"], b; });
    });
    made.poll_once();
    ASSERT_EQ(status(run), RunStatus::error);
    broken = false;
    const Run again = store().retry(run);
    made.poll_once();
    EXPECT_EQ(again.output<int>(), 42);
    EXPECT_EQ(calls, (std::map<std::string, int>{{"a", 1}, {"b", 2}, {"c", 1}}));
    EXPECT_EQ(again.info().origin, run);
    EXPECT_EQ(status(run), RunStatus::error) << "what ended stays as it ended";
}

TEST_P(CancelRunTest, a_fork_executes_the_step_and_all_behind_it_again) {
    make_workflow();
    const RunId run = trigger();
    std::map<std::string, int> calls;
    auto made = worker_for([&](Context& ctx) {
        std::string trace;
        for (const std::string id : {"a", "b", "c"})
            trace += ctx.step(id, [&] { return std::to_string(++calls[id]); });
        return trace;
    });
    made.poll_once();
    const Run fork = store().fork(run, "b");
    made.poll_once();
    EXPECT_EQ(store().run(run).output<std::string>(), "111");
    EXPECT_EQ(fork.output<std::string>(), "122");
}

TEST_P(CancelRunTest, stop_hands_back_what_was_not_started_without_a_strike) {
    make_workflow();
    const auto runs = trigger_many(5);
    std::latch begun(1);
    std::latch go(1);
    std::atomic<int> executed = 0;
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("a", [&] {
                                if (++executed == 1) {
                                    begun.count_down();
                                    go.wait();
                                }
                            });
                        }
                    )
                    .concurrency(1)
                    .create(store());
    made.start();
    begun.wait();
    std::jthread release([&] { go.count_down(); });
    EXPECT_EQ(made.stop(30s).stuck, 0);
    const auto stats = store().queue("job").stats();
    EXPECT_EQ(stats.leased, 0);
    EXPECT_EQ(stats.ready + store().count_runs().success, 5);
    for (const Message& message : store().queue("job").list(MessageState::ready))
        EXPECT_EQ(message.strikes, 0);
}

TEST_P(CancelRunTest, stop_between_two_steps_lets_another_worker_continue) {
    make_workflow();
    const RunId run = trigger();
    std::latch begun(1);
    std::latch go(1);
    std::atomic<int> first = 0;
    std::atomic<int> second = 0;
    const auto function = [&](Context& ctx) {
        ctx.step("first", [&] { ++first; });
        if (ctx.delivery() == 1) {
            begun.count_down();
            go.wait();
        }
        ctx.step("second", [&] { ++second; });
    };
    {
        auto made = worker_for(function);
        made.start();
        begun.wait();
        EXPECT_EQ(made.stop(10ms).stuck, 1);
        EXPECT_EQ(message_of(run)->state, MessageState::ready) << "released immediately";
        go.count_down();
    }
    EXPECT_EQ(second, 0) << "no step is started after the stop";
    auto other = worker_for(function);
    EXPECT_EQ(other.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 1);
}

}  // namespace
}  // namespace pawl::test
