// Pauses, sleeps and resumes with a real worker.
#include <pawl/json.h>

#include "support/without_polling.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class PauseTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    // The step of a sleeping run.
    StepInfo sleeping(RunId run) const {
        for (const StepInfo& info : store().run(run).steps()) {
            if (info.wake_at) return info;
        }
        ADD_FAILURE() << "no step sleeps";
        return {};
    }
};
PAWL_FOR_EACH_BACKEND(PauseTest);
using PauseWakeupTest = WithoutPolling<PauseTest>;
PAWL_FOR_EACH_BACKEND(PauseWakeupTest);

TEST_P(PauseTest, a_paused_run_continues_with_the_data_of_its_resume) {
    make_workflow();
    const RunId run = trigger();
    int before = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("before", [&] { ++before; });
        const auto answer = ctx.pause<std::string>("ask", "is that so?");
        return ctx.step("after", [&] { return answer + "!"; });
    });
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(info(run).visible_at, start + 1h) << "the store's pause_check_interval";
    EXPECT_EQ(step(run, "ask").pause_message, "is that so?");
    EXPECT_EQ(step(run, "ask").status, StepStatus::paused);
    EXPECT_EQ(made.poll_once(), 0) << "it holds no thread";
    store().resume(run, "ask", std::string("yes"));
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(info(run).output, Json{"\"yes!\""});
    EXPECT_EQ(before, 1);
    EXPECT_EQ(event_kinds(run), "paused,resumed");
}

TEST_P(PauseWakeupTest, a_resume_wakes_a_worker) {
    testing::restore_clock(store());
    make_workflow();
    auto made = worker_for([&](Context& ctx) { return ctx.pause<int>("ask", "how many?") + 1; });
    made.start();
    const Run run = workflow("job").trigger().execute(store());
    ASSERT_TRUE(eventually([&] { return run.status() == RunStatus::paused; }));
    ASSERT_TRUE(worker_is_idle(store()));
    open().resume(run.id(), "ask", 41);
    EXPECT_EQ(run.wait<int>(30s), 42);
}

TEST_P(PauseTest, a_resume_before_the_pause_is_used_immediately) {
    make_workflow();
    const RunId run = trigger();
    store().resume(run, "ask", 5, {.early = true});
    auto made = worker_for([](Context& ctx) { return ctx.pause<int>("ask", "how many?"); });
    while (made.poll_once() > 0) continue;
    EXPECT_EQ(info(run).output, Json{"5"});
}

TEST_P(PauseTest, at_a_check_the_function_is_replayed_and_pauses_again) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ++calls;
        ctx.pause("ask", "a person", 10min);
    });
    for (int i = 1; i <= 4; ++i) {
        EXPECT_EQ(made.poll_once(), 1);
        EXPECT_EQ(calls, i);
        EXPECT_EQ(status(run), RunStatus::paused);
        EXPECT_EQ(info(run).visible_at, store().now() + 10min);
        EXPECT_EQ(info(run).strikes, 0);
        EXPECT_EQ(info(run).attempts, 0) << "a pause uses none";
        advance(10min);
    }
    EXPECT_EQ(event_kinds(run), "paused") << "once, not at every check";
}

TEST_P(PauseTest, a_body_may_pause_and_is_executed_again_at_each_check) {
    make_workflow("job", {.max_attempts = 2});
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("wait_for_file", [&] {
            if (++calls < 4) throw PauseError("no file yet", 30s, "exists(a.txt)");
            return calls;
        });
    });
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(made.poll_once(), 1);
        EXPECT_EQ(status(run), RunStatus::paused);
        EXPECT_EQ(info(run).visible_at, store().now() + 30s);
        EXPECT_EQ(step(run, "wait_for_file").pause_message, "no file yet");
        EXPECT_EQ(step(run, "wait_for_file").pause_condition, "exists(a.txt)");
        advance(30s);
    }
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(info(run).output, Json{"4"}) << "pausing used no attempts";
}

TEST_P(PauseTest, a_resume_gives_a_body_that_paused_its_result) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("file", [&]() -> std::string {
            ++calls;
            throw PauseError("no file yet");
        });
    });
    made.poll_once();
    store().resume(run, "file", std::string("b.txt"));
    made.poll_once();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(info(run).output, Json{"\"b.txt\""});
}

TEST_P(PauseTest, two_pauses_are_resumed_one_after_the_other) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        const int a = ctx.pause<int>("ask", "first");
        const int b = ctx.pause<int>("ask", "second");
        return a * 10 + b;
    });
    store().resume(run, "ask#2", 2, {.early = true});
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::paused);
    store().resume(run, "ask", 1);
    while (made.poll_once() > 0) continue;
    EXPECT_EQ(info(run).output, Json{"12"});
}

TEST_P(PauseTest, a_sleep_ends_by_the_databases_clock_and_no_earlier) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.sleep(10s);
        ctx.step("awake", [] {});
    });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(info(run).visible_at, start + 10s);
    EXPECT_EQ(sleeping(run).wake_at, start + 10s);
    advance(9'999ms);
    EXPECT_EQ(made.poll_once(), 0);
    store().wake(run);
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::paused) << "woken too early, it sleeps on";
    EXPECT_EQ(sleeping(run).wake_at, start + 10s);
    EXPECT_EQ(info(run).visible_at, start + 10s);
    advance(1ms);
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::success);
    const StepInfo slept = store().run(run).steps().front();
    EXPECT_EQ(slept.started_at, start) << "the whole sleep, not its last moment";
    EXPECT_EQ(slept.completed_at, start + 10s);
}

TEST_P(PauseTest, a_sleep_until_a_time) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) { ctx.sleep_until(start + 90s); });
    made.poll_once();
    EXPECT_EQ(info(run).visible_at, start + 90s);
    advance(90s);
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(PauseTest, sleeps_that_are_over_do_not_suspend) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.sleep(0s);
        ctx.sleep_until(start - 1h);
        return ctx.delivery();
    });
    made.poll_once();
    EXPECT_EQ(info(run).output, Json{"1"});
}

TEST_P(PauseTest, sleeps_in_a_loop_are_numbered_and_slept_once_each) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        for (int i = 0; i < 3; ++i) ctx.sleep(10s);
        return ctx.delivery();
    });
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(made.poll_once(), 1);
        advance(10s);
    }
    EXPECT_EQ(info(run).output, Json{"4"});
    EXPECT_EQ(store().run(run).steps().size(), 3U);
    for (const StepInfo& step : store().run(run).steps())
        EXPECT_EQ(step.status, StepStatus::success) << step.id << " of delivery " << step.delivery;
}

TEST_P(PauseTest, a_paused_run_survives_the_death_of_every_worker) {
    make_workflow();
    const RunId run = trigger();
    const auto function = [](Context& ctx) { return ctx.pause<int>("ask", "how many?"); };
    {
        auto first = worker_for(function);
        first.poll_once();
    }
    store().resume(run, "ask", 7);
    auto second = worker_for(function);
    second.poll_once();
    EXPECT_EQ(info(run).output, Json{"7"});
}

TEST_P(PauseTest, a_pause_outside_of_steps_replays_the_function) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        if (ctx.delivery() < 3) throw PauseError("not yet", 10s);
        return ctx.delivery();
    });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(info(run).visible_at, start + 10s);
    for (int i = 0; i < 2; ++i) {
        advance(10s);
        made.poll_once();
    }
    EXPECT_EQ(info(run).output, Json{"3"});
}

}  // namespace
}  // namespace pawl::test
