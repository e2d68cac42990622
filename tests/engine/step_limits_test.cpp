// Invalid arguments inside a run, and the timeouts of steps and runs.
#include <atomic>
#include <latch>
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class StepLimitsTest : public WorkflowTest {
protected:
    [[nodiscard]] ConnectOptions options() const override {
        ConnectOptions options = WorkflowTest::options();
        options.max_payload_bytes = 10'000;
        return options;
    }
    // Executes the function once, without a further attempt.
    template <class F>
    RunId run_once(F function) const {
        make_workflow("job", {.max_attempts = 1});
        const RunId run = trigger();
        auto made = worker_for(std::move(function));
        EXPECT_EQ(made.poll_once(), 1);
        return run;
    }
    model::RunError error_of_run(RunId run) const {
        EXPECT_EQ(status(run), RunStatus::error);
        return error_in(info(run).error);
    }
};
PAWL_FOR_EACH_BACKEND(StepLimitsTest);

TEST_P(StepLimitsTest, bad_step_ids_are_refused_and_the_body_does_not_run) {
    std::atomic<int> calls = 0;
    for (const std::string& id :
         std::vector<std::string>{"", "a#2", std::string(256, 'a'), std::string("a\0b", 3)}) {
        const RunId run = run_once([&](Context& ctx) { ctx.step(id, [&] { ++calls; }); });
        EXPECT_EQ(error_of_run(run).type, "invalid_argument") << id;
        EXPECT_TRUE(store().run(run).steps().empty());
    }
    EXPECT_EQ(calls, 0);
    const RunId longest =
        run_once([&](Context& ctx) { ctx.step(std::string(255, 'a'), [&] { ++calls; }); });
    EXPECT_EQ(status(longest), RunStatus::success);
    EXPECT_EQ(calls, 1);
}

TEST_P(StepLimitsTest, the_longest_id_may_be_used_twice) {
    const RunId run = run_once([&](Context& ctx) {
        for (int i = 0; i < 2; ++i) ctx.step(std::string(255, 'a'), [] {});
    });
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(step_ids(run).back(), std::string(255, 'a') + "#2");
}

TEST_P(StepLimitsTest, a_step_output_over_the_limit_fails_the_step_for_good) {
    const RunId run = run_once([&](Context& ctx) {
        return ctx.step("large", [] { return std::string(20'000, 'x'); });
    });
    const auto error = error_of_run(run);
    EXPECT_EQ(error.type, "payload_too_large");
    EXPECT_EQ(error.step, "large");
    EXPECT_TRUE(contains(error.message, "10000"));
    EXPECT_EQ(step(run, "large").status, StepStatus::error);
}

TEST_P(StepLimitsTest, a_step_output_that_is_not_json_fails_the_step_for_good) {
    const RunId no_json = run_once([&](Context& ctx) { ctx.step("a", [] { return Json{"{"}; }); });
    EXPECT_EQ(error_of_run(no_json).type, "serialization_error");
    const RunId no_utf8 =
        run_once([&](Context& ctx) { ctx.step("a", [] { return std::string("caf\xe9"); }); });
    EXPECT_EQ(error_of_run(no_utf8).type, "serialization_error");
}

TEST_P(StepLimitsTest, the_output_of_the_run_has_the_same_limits) {
    const RunId large = run_once([](Context&) { return std::string(20'000, 'x'); });
    EXPECT_EQ(error_of_run(large).type, "payload_too_large");
    EXPECT_FALSE(info(large).output);
    const RunId no_json = run_once([](Context&) { return Json{"{"}; });
    EXPECT_EQ(error_of_run(no_json).type, "serialization_error");
}

TEST_P(StepLimitsTest, bad_step_options_are_refused) {
    for (const StepOptions& bad : std::vector<StepOptions>{
             {.max_attempts = 0}, {.backoff_base = -1s}, {.timeout = 0s}, {.input = Json{"{"}}}) {
        const RunId run = run_once([&](Context& ctx) { ctx.step("a", bad, [] {}); });
        EXPECT_EQ(status(run), RunStatus::error);
        EXPECT_TRUE(store().run(run).steps().empty());
    }
}

TEST_P(StepLimitsTest, a_step_that_takes_too_long_is_notified_and_fails_whatever_it_returns) {
    std::atomic<bool> told = false;
    const RunId run = run_once([&](Context& ctx) {
        return ctx.step("slow", {.timeout = 50ms}, [&] {
            const auto stop = ctx.stop_token();
            told = eventually([&] { return stop.stop_requested(); });
            return 5;
        });
    });
    EXPECT_TRUE(told);
    const auto error = error_of_run(run);
    EXPECT_EQ(error.type, "timeout");
    EXPECT_EQ(error.step, "slow");
    EXPECT_EQ(step(run, "slow").status, StepStatus::error);
    EXPECT_FALSE(step(run, "slow").output);
}

TEST_P(StepLimitsTest, a_timeout_counts_as_an_attempt) {
    make_workflow("job", {.backoff_base = 0s});
    const RunId run = trigger();
    std::atomic<int> calls = 0;
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("slow", {.timeout = 50ms}, [&] {
            const auto stop = ctx.stop_token();
            if (++calls == 1) (void)eventually([&] { return stop.stop_requested(); });
            return calls.load();
        });
    });
    made.start();
    EXPECT_EQ(store().run(run).wait<int>(30s), 2);
    EXPECT_EQ(step(run, "slow").attempt, 2);
    EXPECT_TRUE(has_event(run, "step_retry"));
}

TEST_P(StepLimitsTest, the_next_step_has_a_token_of_its_own) {
    make_workflow("job", {.max_attempts = 1});
    const RunId run = trigger();
    std::atomic<bool> requested = true;
    auto made = worker_for([&](Context& ctx) {
        try {
            ctx.step("slow", {.timeout = 20ms}, [&] {
                EXPECT_TRUE(eventually([&] { return ctx.stop_token().stop_requested(); }));
            });
        } catch (const StepError&) {
        }
        ctx.step("next", [&] { requested = ctx.stop_token().stop_requested(); });
    });
    made.poll_once();
    EXPECT_FALSE(requested);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(StepLimitsTest, a_run_that_takes_too_long_is_notified_and_ends_as_a_timeout) {
    make_workflow("job", {.run_timeout = 200ms});
    const RunId run = trigger();
    std::atomic<bool> told = false;
    std::atomic<bool> later = false;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("slow", [&] {
            told = eventually([&] { return ctx.stop_token().stop_requested(); });
        });
        ctx.step("later", [&] { later = true; });
    });
    made.start();
    ASSERT_TRUE(finished(run));
    EXPECT_TRUE(told);
    EXPECT_FALSE(later);
    EXPECT_EQ(error_of_run(run).type, "timeout");
    EXPECT_TRUE(contains(error_of_run(run).message, "run_timeout"));
}

TEST_P(StepLimitsTest, pauses_count_towards_the_time_of_the_run) {
    freeze();
    make_workflow("job", {.run_timeout = 60s});
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) { ctx.pause("ask", "a person", 1h); });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(info(run).visible_at, start + 60s);
    advance(60s);
    made.poll_once();
    EXPECT_EQ(error_of_run(run).type, "timeout");
    EXPECT_EQ(step(run, "ask").status, StepStatus::cancelled);
    EXPECT_EQ(error_of([&] { store().resume(run, "ask"); }).code(), ErrorCode::run_finished);
}

TEST_P(StepLimitsTest, a_long_step_is_shown_as_running) {
    make_workflow();
    const RunId run = trigger();
    std::latch go(1);
    auto made = worker_for([&](Context& ctx) { ctx.step("long", [&] { go.wait(); }); });
    made.start();
    EXPECT_TRUE(eventually([&] {
        const auto steps = store().run(run).steps();
        return steps.size() == 1 && steps[0].status == StepStatus::running &&
               steps[0].started_at.has_value();
    }));
    go.count_down();
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(step(run, "long").status, StepStatus::success);
    EXPECT_EQ(step(run, "long").attempt, 1);
}

}  // namespace
}  // namespace pawl::test
