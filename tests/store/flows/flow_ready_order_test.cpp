// Steps that become ready at the same time: the order in which their tasks can be claimed, and the
// effect on the others if one of them fails the run.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowReadyOrderTest : public FlowTest {
protected:
    static FlowStepOptions required(const std::string& pattern, WhenUnmet unmet = WhenUnmet::skip) {
        return {.required_input_pattern = Json{pattern}, .when_unmet = unmet};
    }
    // After `dep`: alternating steps with conditions, a map and plain steps.
    static void add_mixed_steps(Flow& flow, const std::string& dep = {}) {
        std::vector<std::string> deps;
        if (!dep.empty()) deps.push_back(dep);
        const FlowStepOptions met{.forbidden_input_pattern = Json{R"({"no":1})"}};
        flow.step("if1", deps, met).map("map1", dep).step("plain1", deps);
        flow.step("if2", deps, met).step("plain2", deps);
    }
    static constexpr auto mixed_order = "plain1, plain2, if1, map1, map1.1, if2";
};
PAWL_FOR_EACH_BACKEND(FlowReadyOrderTest);

TEST_P(FlowReadyOrderTest, plain_steps_come_first_then_the_others_by_index) {
    Flow mixed = flow("flow").step("a");
    add_mixed_steps(mixed, "a");
    mixed.create(store());
    (void)start_flow();
    work_step("a", "[1,2]");
    EXPECT_EQ(names(poll()), mixed_order);
}

TEST_P(FlowReadyOrderTest, root_steps_have_the_same_order_in_a_new_run_and_in_a_copy) {
    Flow mixed = flow("flow");
    add_mixed_steps(mixed);
    mixed.create(store());
    const RunId run = start_flow("[1,2]");
    EXPECT_EQ(names(poll()), mixed_order);
    store().cancel(run, "test");
    (void)store().retry(run);
    EXPECT_EQ(names(poll()), mixed_order);
}

// Both steps are skipped together: their dependents are ready at the same time.
TEST_P(FlowReadyOrderTest, dependents_of_steps_without_tasks_come_by_index) {
    flow("flow")
        .step("a")
        .step("skipped1", {"a"}, required(R"({"a":1})"))
        .step("skipped2", {"a"}, required(R"({"a":1})"))
        .step("of2", {"skipped2"})
        .step("of1", {"skipped1"})
        .create(store());
    (void)start_flow();
    work_step("a");
    EXPECT_EQ(names(poll()), "of2, of1");
}

TEST_P(FlowReadyOrderTest, the_first_step_that_fails_the_run_is_its_error) {
    flow("flow")
        .step("a")
        .step("ok1", {"a"}, required(R"({"a":null})"))
        .step("bad1", {"a"}, required(R"({"a":1})", WhenUnmet::fail))
        .step("bad2", {"a"}, required(R"({"a":1})", WhenUnmet::fail))
        .step("skipped", {"a"}, required(R"({"a":1})"))
        .step("ok2", {"a"}, required(R"({"a":null})"))
        .step("plain", {"a"})
        .step("last", {"skipped", "plain"})
        .create(store());
    const RunId run = start_flow();
    work_step("a");
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(info(run).last_error, "'bad1'")) << info(run).last_error;
    EXPECT_EQ(
        states(run),
        "a SUCCESS, ok1 CANCELLED, bad1 ERROR, bad2 CANCELLED, skipped SKIPPED, ok2 CANCELLED, "
        "plain CANCELLED, last CANCELLED"
    );
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, ok1.0 CANCELLED, ok2.0 CANCELLED, plain.0 CANCELLED")
        << "steps that were ready with the failed one have started";
    EXPECT_EQ(step(run, "last").remaining_deps, 2);
    EXPECT_EQ(info(run).remaining_steps, 6);
    EXPECT_EQ(count(Rows::messages), 0);
}

}  // namespace
}  // namespace pawl::test
