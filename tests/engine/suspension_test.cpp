// Wrong uses of a Context.
#include <future>
#include <pawl/json.h>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SuspensionTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    template <class F>
    RunId run_once(F function) const {
        make_workflow("job", {.max_attempts = 1});
        const RunId run = trigger();
        auto made = worker_for(std::move(function));
        EXPECT_EQ(made.poll_once(), 1);
        return run;
    }
};
PAWL_FOR_EACH_BACKEND(SuspensionTest);

TEST_P(SuspensionTest, a_swallowed_suspension_suspends_all_the_same_and_leaves_an_event) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([&](Context& ctx) {
        try {
            ctx.sleep(10s);
        } catch (...) {
        }
        return 1;
    });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_FALSE(info(run).output) << "the result is discarded";
    EXPECT_TRUE(has_event(run, "suspension_swallowed"));
    EXPECT_TRUE(contains(log_text(), "catch (...)"));
    advance(10s);
    made.poll_once();
    EXPECT_EQ(info(run).output, Json{"1"});
}

TEST_P(SuspensionTest, after_a_swallowed_suspension_every_call_suspends_again) {
    int later = 0;
    const RunId run = run_once([&](Context& ctx) {
        for (int i = 0; i < 3; ++i) {
            try {
                ctx.pause("ask", "a person");
            } catch (...) {
            }
            try {
                ctx.step("later", [&] { ++later; });
            } catch (...) {
            }
        }
        throw std::runtime_error("hides it");
    });
    EXPECT_EQ(later, 0);
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"ask"});
}

TEST_P(SuspensionTest, a_suspension_is_not_a_std_exception) {
    bool seen = false;
    const RunId run = run_once([&](Context& ctx) {
        try {
            ctx.sleep(10s);
        } catch (const std::exception&) {
            seen = true;
        }
    });
    EXPECT_FALSE(seen);
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_FALSE(has_event(run, "suspension_swallowed"));
}

TEST_P(SuspensionTest, destructors_run_when_the_stack_is_taken_down) {
    struct Guard {
        bool& gone;
        ~Guard() { gone = true; }
    };
    bool gone = false;
    run_once([&](Context& ctx) {
        const Guard guard{gone};
        ctx.sleep(10s);
    });
    EXPECT_TRUE(gone);
}

TEST_P(SuspensionTest, a_call_from_a_destructor_during_unwinding_is_refused) {
    struct Recorder {
        Context& ctx;
        std::optional<ErrorCode>& refused;
        ~Recorder() {
            try {
                ctx.step("cleanup", [] {});
            } catch (const Error& error) {
                refused = error.code();
            } catch (...) {
            }
        }
    };
    std::optional<ErrorCode> by_exception;
    const RunId run = run_once([&](Context& ctx) {
        try {
            const Recorder recorder{ctx, by_exception};
            throw std::runtime_error("unwinds");
        } catch (const std::runtime_error&) {
        }
        ctx.step("after", [] {});
    });
    EXPECT_EQ(by_exception, ErrorCode::context_misuse);
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"after"});
    EXPECT_EQ(status(run), RunStatus::success) << "it continues after the exception was handled";
    std::optional<ErrorCode> by_suspension;
    const RunId suspended = run_once([&](Context& ctx) {
        const Recorder recorder{ctx, by_suspension};
        ctx.sleep(10s);
    });
    EXPECT_EQ(by_suspension, ErrorCode::context_misuse);
    EXPECT_EQ(status(suspended), RunStatus::paused);
}

TEST_P(SuspensionTest, a_call_from_another_thread_is_refused) {
    std::vector<ErrorCode> refused;
    std::atomic<bool> stop = true;
    std::atomic<bool> cancelled = true;
    const RunId run = run_once([&](Context& ctx) {
        std::jthread([&] {
            const std::vector<std::function<void()>> calls{
                [&] { ctx.step("a", [] {}); },
                [&] { ctx.sleep(1s); },
                [&] { ctx.pause("a", "b"); },
                [&] { (void)ctx.acquire("a"); },
                [&] { ctx.heartbeat(); }};
            for (const auto& call : calls) refused.push_back(error_of(call).code());
            stop = ctx.stop_token().stop_requested();
            cancelled = ctx.cancelled();
        }).join();
        ctx.step("mine", [] {});
    });
    EXPECT_EQ(refused, std::vector(5, ErrorCode::context_misuse));
    EXPECT_FALSE(stop) << "these may be asked from anywhere";
    EXPECT_FALSE(cancelled);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"mine"});
}

TEST_P(SuspensionTest, a_step_inside_of_a_step_is_refused) {
    const RunId run =
        run_once([](Context& ctx) { ctx.step("outer", [&] { ctx.step("inner", [] {}); }); });
    EXPECT_EQ(status(run), RunStatus::error);
    const auto error = error_in(info(run).error);
    EXPECT_EQ(error.type, "context_misuse");
    EXPECT_EQ(error.step, "outer");
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"outer"});
}

TEST_P(SuspensionTest, a_sleep_or_pause_inside_of_a_step_is_refused) {
    std::vector<ErrorCode> refused;
    const RunId run = run_once([&](Context& ctx) {
        ctx.step("outer", [&] {
            refused.push_back(error_of([&] { ctx.sleep(1s); }).code());
            refused.push_back(error_of([&] { ctx.pause("a", "b"); }).code());
            ctx.heartbeat();
        });
    });
    EXPECT_EQ(refused, std::vector(2, ErrorCode::context_misuse));
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(SuspensionTest, a_guard_cannot_be_settled_twice) {
    std::optional<ErrorCode> refused;
    const RunId run = run_once([&](Context& ctx) {
        auto guard = ctx.acquire("a");
        guard.success(1);
        refused = error_of([&] { guard.success(2); }).code();
    });
    EXPECT_EQ(refused, ErrorCode::context_misuse);
    EXPECT_EQ(step(run, "a").output, Json{"1"});
}

TEST_P(SuspensionTest, the_log_goes_to_the_stores_hook_with_the_run) {
    const RunId run =
        run_once([](Context& ctx) { ctx.log(LogLevel::warning, "a word from the handler"); });
    EXPECT_TRUE(contains(log_text(), "a word from the handler"));
    EXPECT_TRUE(contains(log_text(), std::to_string(run.value())));
}

}  // namespace
}  // namespace pawl::test
