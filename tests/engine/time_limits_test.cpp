// Times that no database can wait for, and functions that do not return at their timeout.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "base/crash_point.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class TimeLimitsTest : public WorkflowTest {
protected:
    // Executes the function once; it fails as in the second attempt.
    template <class F>
    [[nodiscard]] model::RunError error_of_run(F function) const {
        make_workflow("job", {.max_attempts = 1});
        const RunId run = trigger();
        auto made = worker_for(std::move(function));
        EXPECT_EQ(made.poll_once(), 1);
        EXPECT_EQ(status(run), RunStatus::error);
        return error_in(info(run).error);
    }
    static constexpr Duration centuries = std::chrono::hours(24 * 366 * 300);
};
PAWL_FOR_EACH_BACKEND(TimeLimitsTest);

TEST_P(TimeLimitsTest, a_pause_is_checked_after_a_time_above_zero_and_below_a_hundred_years) {
    for (const Duration bad : {Duration(0), Duration(-1), centuries, Duration::max()}) {
        const auto error = error_of_run([&](Context& ctx) { ctx.pause("ask", "a person", bad); });
        EXPECT_EQ(error.type, "invalid_argument") << bad.count();
        EXPECT_TRUE(contains(error.message, "check_after")) << error.message;
    }
}

TEST_P(TimeLimitsTest, so_is_a_pause_that_a_body_throws) {
    for (const Duration bad : {Duration(0), Duration(-1), centuries, Duration::max()}) {
        const auto in_step = error_of_run([&](Context& ctx) {
            ctx.step("wait", [&] { throw PauseError("not yet", bad); });
        });
        EXPECT_EQ(in_step.type, "invalid_argument") << bad.count();
        EXPECT_EQ(in_step.step, "wait");
        EXPECT_TRUE(contains(in_step.message, "check_after")) << in_step.message;
        const auto outside = error_of_run([&](Context&) { throw PauseError("not yet", bad); });
        EXPECT_EQ(outside.type, "invalid_argument") << bad.count();
    }
}

TEST_P(TimeLimitsTest, a_transient_error_with_a_time_beyond_a_hundred_years_is_the_end) {
    for (const Duration bad : {centuries, Duration::max()}) {
        const auto error = error_of_run([&](Context& ctx) {
            ctx.step("a", {.max_attempts = 5}, [&] { throw TransientError("later", bad); });
        });
        EXPECT_EQ(error.type, "invalid_argument");
        EXPECT_TRUE(contains(error.message, "retry_after")) << error.message;
    }
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    auto made =
        worker("q")
            .on_message(
                "work", [](const Message&) { throw TransientError("later", Duration::max()); }
            )
            .create(store());
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(queue.stats().dead, 1);
}

TEST_P(TimeLimitsTest, a_transient_error_whose_time_has_passed_is_tried_again_immediately) {
    make_workflow();
    const RunId run = trigger();
    std::atomic<int> calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("a", [&] {
            if (++calls == 1) throw TransientError("now", Duration::min());
        });
    });
    made.poll_once();
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(TimeLimitsTest, a_step_with_a_timeout_beyond_a_hundred_years_is_refused) {
    for (const Duration bad : {centuries, Duration::max()}) {
        const auto error =
            error_of_run([&](Context& ctx) { ctx.step("a", {.timeout = bad}, [] {}); });
        EXPECT_EQ(error.type, "invalid_argument");
        EXPECT_TRUE(contains(error.message, "timeout")) << error.message;
    }
}

TEST_P(TimeLimitsTest, a_sleep_ends_before_the_year_10000) {
    for (const Timestamp bad : {Timestamp::max(), Timestamp::min()}) {
        const auto error = error_of_run([&](Context& ctx) { ctx.sleep_until(bad); });
        EXPECT_EQ(error.type, "invalid_argument");
        EXPECT_TRUE(contains(error.message, "9999")) << error.message;
    }
}

TEST_P(TimeLimitsTest, a_wait_for_a_time_that_is_millennia_away_sleeps) {
    static std::atomic<int> calls;
    const Queue queue = make_queue();
    const Timestamp far = std::chrono::sys_days(std::chrono::year(9998) / 1 / 1);
    const MessageId id = queue.enqueue(Json{"1"}, {.at = far});
    EXPECT_EQ(queue.find(id)->visible_at, far);
    calls = 0;
    base::crash_hook = [] { ++calls; };
    EXPECT_TRUE(queue.dequeue({.wait = 300ms}).empty());
    base::crash_hook = nullptr;
    EXPECT_LT(calls, 20);
}

TEST_P(TimeLimitsTest, the_times_of_stores_workers_and_deliveries_have_the_same_limits) {
    const auto refused = [](const auto& call) {
        return error_of(call).code() == ErrorCode::invalid_argument;
    };
    for (const Duration bad : {Duration(0), Duration(-1), centuries, Duration::max()}) {
        ConnectOptions pauses = options();
        pauses.pause_check_interval = bad;
        EXPECT_TRUE(refused([&] { (void)connect(place().url(), pauses); })) << bad.count();
        ConnectOptions calls = options();
        calls.call_timeout = bad;
        EXPECT_TRUE(refused([&] { (void)connect(place().url(), calls); })) << bad.count();
        ConnectOptions leases = options();
        leases.lease = bad;
        EXPECT_TRUE(refused([&] { (void)connect(place().url(), leases); })) << bad.count();
        const Queue queue = make_queue();
        EXPECT_TRUE(refused([&] { (void)queue.dequeue({.lease = bad}); })) << bad.count();
    }
    auto made = worker("w").on_message("work", [](const Message&) {});
    EXPECT_TRUE(refused([&] { (void)made.backoff(1s, centuries).create(store()); }));
    made.backoff(1s, 1s);
    EXPECT_TRUE(refused([&] { (void)made.lease(centuries).create(store()); }));
}

TEST_P(TimeLimitsTest, waiting_and_stopping_may_have_no_limit) {
    make_workflow();
    const RunId run = trigger();
    std::latch started(1);
    std::latch go(1);
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("a", [&] {
            started.count_down();
            go.wait();
            return 5;
        });
    });
    made.start();
    started.wait();
    std::atomic<int> result = 0;
    {
        std::jthread waiter([&] { result = store().run(run).wait<int>(Duration::max()); });
        std::jthread release([&] { go.count_down(); });
        EXPECT_EQ(made.stop(Duration::max()).stuck, 0);
    }
    EXPECT_EQ(result, 5);
}

// --- functions that do not return ---

TEST_P(TimeLimitsTest, a_body_that_ignores_its_timeout_is_reported_without_it_and_tried_again) {
    make_workflow("job", {.backoff_base = 0s});
    const RunId run = trigger();
    std::latch go(1);
    std::latch returned(1);
    std::atomic<int> calls = 0;
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("slow", {.timeout = 50ms}, [&] {
            const int call = ++calls;
            if (call == 1) {
                go.wait();
                returned.count_down();
            }
            return call;
        });
    });
    made.start();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(info(run).output, Json{"2"}) << "while the first body still runs";
    EXPECT_EQ(step(run, "slow").attempt, 2);
    go.count_down();
    returned.wait();
    made.stop();
    EXPECT_EQ(step(run, "slow").output, Json{"2"}) << "its late result is fenced off";
}

TEST_P(TimeLimitsTest, a_body_that_ignores_its_timeout_in_its_last_attempt_fails_its_step) {
    make_workflow("job", {.max_attempts = 1});
    const RunId run = trigger();
    std::latch go(1);
    std::atomic<int> calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("slow", {.timeout = 50ms}, [&] {
            ++calls;
            go.wait();
        });
    });
    made.start();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "timeout");
    EXPECT_TRUE(contains(error_in(info(run).error).message, "did not return"));
    EXPECT_EQ(step(run, "slow").status, StepStatus::error);
    EXPECT_EQ(calls, 1);
    go.count_down();
    made.stop();
    EXPECT_EQ(step(run, "slow").status, StepStatus::error);
}

TEST_P(TimeLimitsTest, a_function_that_blocks_between_its_steps_ends_with_its_run_timeout) {
    make_workflow("job", {.run_timeout = 2s});
    const RunId run = trigger();
    std::latch go(1);
    std::atomic<bool> told = false;
    std::atomic<bool> later = false;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("first", [] {});
        go.wait();
        told = ctx.stop_token().stop_requested();
        ctx.step("later", [&] { later = true; });
        return 5;
    });
    made.start();
    EXPECT_TRUE(finished(run)) << "while the function still blocks";
    EXPECT_EQ(error_in(info(run).error).type, "timeout");
    go.count_down();
    made.stop();
    EXPECT_TRUE(told);
    EXPECT_FALSE(later);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_FALSE(info(run).output);
}

TEST_P(TimeLimitsTest, a_stop_callback_that_blocks_holds_no_other_run_up) {
    make_workflow();
    make_workflow("other");
    const RunId run = trigger();
    std::latch called(1);
    std::latch go(1);
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("slow", {.max_attempts = 1, .timeout = 20ms}, [&] {
                                const std::stop_callback blocks(ctx.stop_token(), [&] {
                                    called.count_down();
                                    go.wait();
                                });
                                called.wait();
                            });
                        }
                    )
                    .handle("other", [](Context& ctx) { ctx.step("a", [] {}); })
                    .create(store());
    made.start();
    called.wait();
    const RunId other = trigger("other");
    EXPECT_TRUE(finished(other));
    EXPECT_EQ(status(other), RunStatus::success);
    go.count_down();
    EXPECT_TRUE(finished(run));
}

}  // namespace
}  // namespace pawl::test
