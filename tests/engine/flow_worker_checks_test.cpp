// Workers that do not match their flow are refused; prefixes apply to flows as to workflows.
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowWorkerChecksTest : public FlowTest {
protected:
    static void nothing(TaskContext&) {}
    [[nodiscard]] Error refusal(const WorkerBuilder& builder) const {
        return error_of([&] { (void)builder.create(store()); });
    }
};
PAWL_FOR_EACH_BACKEND(FlowWorkerChecksTest);

TEST_P(FlowWorkerChecksTest, an_unknown_flow_is_refused) {
    const Error error = refusal(worker("w").flow("flow", FlowHandlers().on("a", nothing)));
    EXPECT_EQ(error.code(), ErrorCode::flow_not_found);
    EXPECT_TRUE(contains(error.what(), "flow 'flow' does not exist"));
}

TEST_P(FlowWorkerChecksTest, a_flow_without_any_handler_is_refused) {
    flow("flow").step("a").step("b").create(store());
    const Error error = refusal(worker("w").flow("flow", FlowHandlers()));
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(
        error.what(), "worker 'w': no step of flow 'flow' has a handler; add one with on()"
    ));
}

TEST_P(FlowWorkerChecksTest, a_handler_for_no_step_is_refused) {
    flow("flow").step("a").create(store());
    const Error error =
        refusal(worker("w").flow("flow", FlowHandlers().on("a", nothing).on("b", nothing)));
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "flow 'flow' has no step 'b'"));
}

TEST_P(FlowWorkerChecksTest, flow_on_a_workflow_is_refused) {
    make_workflow("job");
    const Error error = refusal(worker("w").flow("job", FlowHandlers()));
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "'job' is a workflow, not a flow; use handle()"));
}

TEST_P(FlowWorkerChecksTest, handle_on_a_flow_is_refused) {
    flow("flow").step("a").create(store());
    const Error error = refusal(worker("w").handle("flow", [](Context&) {}));
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "'flow' is a flow; pass the handlers"));
}

TEST_P(FlowWorkerChecksTest, on_message_on_a_flow_is_refused) {
    flow("flow").step("a").create(store());
    const Error error = refusal(worker("w").on_message("flow", [](const Message&) {}));
    EXPECT_EQ(error.code(), ErrorCode::workflow_queue);
    EXPECT_TRUE(contains(error.what(), "belongs to a flow; use flow()"));
}

TEST_P(FlowWorkerChecksTest, two_handlers_for_a_flow_are_refused) {
    flow("flow").step("a").create(store());
    const FlowHandlers handlers = FlowHandlers().on("a", nothing);
    const Error error = refusal(worker("w").flow("flow", handlers).flow("flow", handlers));
    EXPECT_TRUE(contains(error.what(), "flow 'flow' has two handlers; remove one"));
}

TEST_P(FlowWorkerChecksTest, a_step_handled_by_an_unknown_workflow_is_refused) {
    flow("flow").step("a").create(store());
    const Error error = refusal(worker("w").flow("flow", FlowHandlers().on("a", workflow("job"))));
    EXPECT_EQ(error.code(), ErrorCode::workflow_not_found);
    EXPECT_TRUE(contains(error.what(), "workflow 'job', the handler of step 'a' of flow 'flow'"));
}

TEST_P(FlowWorkerChecksTest, a_step_with_a_function_and_a_workflow_is_refused) {
    flow("flow").step("a").create(store());
    make_workflow("job");
    const Error error =
        refusal(worker("w").flow("flow", FlowHandlers().on("a", nothing).on("a", workflow("job"))));
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "step 'a' of flow 'flow' has both a function and a workflow")
    );
}

TEST_P(FlowWorkerChecksTest, a_flow_without_steps_needs_no_handlers) {
    flow("flow").create(store());
    auto made = worker("w").flow("flow", FlowHandlers()).create(store());
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 0);
    EXPECT_EQ(output_of(run), "{}");
}

// --- prefixes ---

TEST_P(FlowWorkerChecksTest, a_prefix_worker_works_only_flows_below_its_prefix) {
    flow("media_a").step("a").create(store());
    flow("billing_a").step("a").create(store());
    auto made = worker("w")
                    .flow("media_a", FlowHandlers().on("a", nothing))
                    .flow("billing_a", FlowHandlers().on("a", nothing))
                    .subscribe("billing_")
                    .create(store());
    const RunId other = start_flow("null", {}, "media_a");
    const RunId mine = start_flow("null", {}, "billing_a");
    // No worker has a handler for the other one, but it is not below the prefix.
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(mine), RunStatus::success);
    EXPECT_EQ(status(other), RunStatus::queued);
    EXPECT_EQ(store().worker_info(made.id()).handlers, std::vector<std::string>{"billing_a"});
}

TEST_P(FlowWorkerChecksTest, below_a_prefix_a_flow_may_be_created_later) {
    testing::restore_clock(store());
    auto made = worker("w")
                    .flow("billing_a", FlowHandlers().on("a", nothing))
                    .subscribe("billing_")
                    .poll_interval(50ms)
                    .create(store());
    made.start();
    flow("billing_a").step("a").create(store());
    EXPECT_TRUE(finished(start_flow("null", {}, "billing_a")));
}

// The flow created under this name may differ from the one the worker has handlers for.
TEST_P(FlowWorkerChecksTest, a_workflow_that_replaced_a_flow_is_not_claimed) {
    auto made = worker("w")
                    .flow("billing_a", FlowHandlers().on("a", nothing))
                    .handle("billing_b", [](Context&) {})
                    .subscribe("billing_")
                    .create(store());
    make_workflow("billing_a");
    flow("billing_b").step("a").create(store());
    const RunId run = trigger("billing_a");
    const RunId tasks = start_flow("null", {}, "billing_b");
    EXPECT_EQ(made.poll_once(), 0);
    EXPECT_EQ(status(run), RunStatus::queued);
    EXPECT_EQ(status(tasks), RunStatus::queued);
}

}  // namespace
}  // namespace pawl::test
