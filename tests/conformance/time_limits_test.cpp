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
