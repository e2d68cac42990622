// Times that no database can wait for, and functions that do not end when their time is over.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class TimeLimitsTest : public WorkflowTest {
protected:
};
PAWL_FOR_EACH_BACKEND(TimeLimitsTest);

// --- functions that do not return ---

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
