// Conditions: steps that run only with a certain input.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowConditionTest : public FlowTest {
protected:
    static FlowStepOptions required(const std::string& pattern, WhenUnmet unmet = WhenUnmet::skip) {
        return {.required_input_pattern = Json{pattern}, .when_unmet = unmet};
    }
    static FlowStepOptions forbidden(
        const std::string& pattern, WhenUnmet unmet = WhenUnmet::skip
    ) {
        return {.forbidden_input_pattern = Json{pattern}, .when_unmet = unmet};
    }
    // Whether a root step with these options runs with that input.
    bool runs_with(const FlowStepOptions& options, const std::string& input) const {
        const std::string slug = "f" + std::to_string(store().workflows().size());
        flow(slug).step("s", {}, options).create(store());
        const RunId run = start_flow(input, {}, slug);
        return step(run, "s").status == StepStatus::running;
    }
};
PAWL_FOR_EACH_BACKEND(FlowConditionTest);

TEST_P(FlowConditionTest, the_condition_of_a_root_step_checks_the_runs_input) {
    EXPECT_TRUE(runs_with(required(R"({"plan":"pro"})"), R"({"plan":"pro","n":1})"));
    EXPECT_FALSE(runs_with(required(R"({"plan":"pro"})"), R"({"plan":"free"})"));
    EXPECT_FALSE(runs_with(required(R"({"plan":"pro"})"), "null"));
    EXPECT_FALSE(runs_with(required(R"({"run":{}})"), R"({"plan":"pro"})")) << "not the task's";
    EXPECT_TRUE(runs_with(forbidden(R"({"plan":"pro"})"), R"({"plan":"free"})"));
    EXPECT_FALSE(runs_with(forbidden(R"({"plan":"pro"})"), R"({"plan":"pro"})"));
}

TEST_P(FlowConditionTest, containment_is_that_of_jsonb) {
    EXPECT_TRUE(runs_with(required(R"(["b"])"), R"(["a","b"])"));
    EXPECT_TRUE(runs_with(required(R"("b")"), R"(["a","b"])"));
    EXPECT_FALSE(runs_with(required(R"(["b"])"), R"("b")"));
    EXPECT_FALSE(runs_with(required(R"({"a":1})"), R"({"b":{"a":1}})"));
    EXPECT_TRUE(runs_with(required(R"({"a":{}})"), R"({"a":{"b":2}})"));
    EXPECT_TRUE(runs_with(required("1.0"), "1"));
    EXPECT_TRUE(runs_with(required("null"), "null"));
    EXPECT_TRUE(runs_with(required("{}"), R"({"any":1})"));
    EXPECT_FALSE(runs_with(required("{}"), "[]"));
}

TEST_P(FlowConditionTest, both_given_both_must_hold) {
    FlowStepOptions both = required(R"({"a":1})");
    both.forbidden_input_pattern = Json{R"({"b":1})"};
    EXPECT_TRUE(runs_with(both, R"({"a":1})"));
    EXPECT_FALSE(runs_with(both, R"({"a":1,"b":1})"));
    EXPECT_FALSE(runs_with(both, "{}"));
    EXPECT_FALSE(runs_with(both, R"({"b":1})"));
}

TEST_P(FlowConditionTest, the_condition_of_an_inner_step_checks_the_outputs_of_its_dependencies) {
    flow("flow")
        .step("a")
        .step("b")
        .step("yes", {"a", "b"}, required(R"({"a":{"ok":true},"b":[1]})"))
        .step("no", {"a", "b"}, required(R"({"a":{"ok":false}})"))
        .step("no_run", {"a"}, required(R"({"run":{}})"))
        .step("not_that", {"b"}, forbidden(R"({"b":[2]})"))
        .create(store());
    const RunId run = start_flow("{}");
    const auto roots = poll();
    complete(roots[0], R"({"ok":true,"x":1})");
    complete(roots[1], "[1,2]");
    EXPECT_EQ(
        states(run),
        "a SUCCESS, b SUCCESS, yes RUNNING, no SKIPPED, no_run SKIPPED, not_that SKIPPED"
    );
    EXPECT_EQ(step(run, "no").skip_reason, "condition_unmet");
    EXPECT_EQ(names(poll()), "yes");
}

TEST_P(FlowConditionTest, skip_lets_dependents_start_without_its_key) {
    flow("flow")
        .step("a", {}, required(R"({"x":1})"))
        .step("b")
        .step("c", {"a", "b"})
        .step("d", {"a"})
        .create(store());
    const RunId run = start_flow("{}");
    EXPECT_EQ(states(run), "a SKIPPED, b RUNNING, c PENDING, d RUNNING");
    const StepInfo skipped = step(run, "a");
    EXPECT_EQ(skipped.skip_reason, "condition_unmet");
    EXPECT_EQ(skipped.completed_at, start);
    EXPECT_FALSE(skipped.started_at || skipped.initial_tasks || skipped.output || skipped.error);
    EXPECT_EQ(step(run, "c").remaining_deps, 1);
    EXPECT_EQ(info(run).remaining_steps, 3);
    EXPECT_EQ(status(run), RunStatus::queued);
    const auto tasks = poll();
    ASSERT_EQ(names(tasks), "b, d");
    EXPECT_EQ(flat(tasks[1].input), R"({"run":{}})");
    complete(tasks[0], "2");
    complete(tasks[1], "4");
    const Task c = poll_step("c");
    EXPECT_EQ(flat(c.input), R"({"run":{},"b":2})");
    complete(c, "3");
    EXPECT_EQ(output_of(run), R"({"c":3,"d":4})");
}

TEST_P(FlowConditionTest, skip_cascade_takes_everything_along) {
    flow("flow")
        .step("a", {}, required(R"({"x":1})", WhenUnmet::skip_cascade))
        .step("b")
        .step("c", {"a", "b"})
        .step("d", {"c"})
        .step("e", {"b"})
        .create(store());
    const RunId run = start_flow("{}");
    EXPECT_EQ(states(run), "a SKIPPED, b RUNNING, c SKIPPED, d SKIPPED, e PENDING");
    EXPECT_EQ(step(run, "a").skip_reason, "condition_unmet");
    EXPECT_EQ(step(run, "c").skip_reason, "dependency_skipped");
    EXPECT_EQ(step(run, "d").skip_reason, "dependency_skipped");
    work_step("b", "2");
    EXPECT_EQ(step(run, "c").status, StepStatus::skipped) << "skipped once and for all";
    work_step("e", "5");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"e":5})");
}

TEST_P(FlowConditionTest, fail_fails_the_run) {
    flow("flow")
        .step("a")
        .step("b", {"a"}, required(R"({"a":1})", WhenUnmet::fail))
        .step("side")
        .create(store());
    const RunId run = start_flow();
    const auto roots = poll();
    ASSERT_EQ(names(roots), "a, side");
    EXPECT_EQ(complete(roots[0], "2"), TaskOutcome::done);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "condition_unmet");
    EXPECT_EQ(error_in(info(run).error).step, "b");
    EXPECT_EQ(states(run), "a SUCCESS, b ERROR, side CANCELLED");
    EXPECT_EQ(flat(step(run, "b").error), flat(info(run).error));
    EXPECT_TRUE(has_event(run, "run_failed"));
    EXPECT_EQ(complete(roots[1]), TaskOutcome::cancelled);
}

TEST_P(FlowConditionTest, a_run_may_fail_with_its_start) {
    flow("flow")
        .step("a")
        .step("b", {}, required("1", WhenUnmet::fail))
        .step("c", {"a"})
        .create(store());
    const RunId run = start_flow("2");
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(states(run), "a CANCELLED, b ERROR, c CANCELLED");
    EXPECT_EQ(count(Rows::messages), 0);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(info(run).completed_at, start);
}

TEST_P(FlowConditionTest, a_run_of_which_everything_is_skipped_succeeds) {
    flow("flow")
        .step("a", {}, required("1"))
        .step("b", {"a"}, required(R"({"a":1})"))
        .create(store());
    const RunId run = start_flow("2");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), "{}");
    EXPECT_EQ(states(run), "a SKIPPED, b SKIPPED");
    EXPECT_EQ(step(run, "b").skip_reason, "condition_unmet") << "its input is {}";
}

TEST_P(FlowConditionTest, a_chain_of_skipped_steps_has_no_limit) {
    Flow chain = flow("flow").step("s0", {}, required("1"));
    for (int i = 1; i < 300; ++i)
        chain.step("s" + std::to_string(i), {"s" + std::to_string(i - 1)}, required("[]"));
    chain.create(store());
    const RunId run = start_flow("2");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(
        std::ranges::count(store().run(run).steps(), "condition_unmet", &StepInfo::skip_reason), 300
    );
}

TEST_P(FlowConditionTest, a_map_is_asked_before_its_elements) {
    flow("flow")
        .step("list")
        .map("each", "list", required(R"({"list":[1]})"))
        .map("other", "list", forbidden(R"({"list":[1]})"))
        .create(store());
    const RunId run = start_flow();
    work_step("list", "[1,2]");
    EXPECT_EQ(states(run), "list SUCCESS, each RUNNING, other SKIPPED");
    flow("unmet").step("list").map("each", "list", required(R"({"list":[1]})")).create(store());
    const RunId no_array = start_flow("null", {}, "unmet");
    work_step("list", "5", "unmet");
    EXPECT_EQ(states(no_array), "list SUCCESS, each SKIPPED") << "it never wanted the array";
}

TEST_P(FlowConditionTest, a_step_waits_for_dependencies_that_were_skipped_as_for_others) {
    flow("flow")
        .step("a", {}, required("1"))
        .step("b", {"a"}, forbidden(R"({"a":{}})"))
        .step("c", {"a", "b"}, required(R"({"b":2})"))
        .create(store());
    const RunId run = start_flow("2");
    EXPECT_EQ(states(run), "a SKIPPED, b RUNNING, c PENDING");
    work_step("b", "2");
    EXPECT_EQ(flat(poll_step("c").input), R"({"run":2,"b":2})");
}

TEST_P(FlowConditionTest, a_value_that_cannot_be_compared_fails_the_run) {
    flow("flow").step("a").step("b", {"a"}, required(R"({"a":"x"})")).create(store());
    const RunId run = start_flow();
    // jsonb cannot hold a zero character in a text; json can.
    const TaskOutcome outcome = complete(poll_step("a"), R"({"text":"\u0000"})");
    EXPECT_EQ(outcome, TaskOutcome::done);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "condition_error");
    EXPECT_EQ(step(run, "a").status, StepStatus::success);
    EXPECT_EQ(step(run, "b").status, StepStatus::error);
}

TEST_P(FlowConditionTest, in_a_batch_each_run_has_its_own_conditions) {
    flow("flow")
        .step("a", {}, required(R"({"go":true})"))
        .step("b", {}, required(R"({"must":true})", WhenUnmet::fail))
        .create(store());
    const std::vector<NewRun> batch{
        {"flow", Json{R"({"go":true,"must":true})"}, {}},
        {"flow", Json{R"({"go":true})"}, {}},
        {"flow", Json{R"({"must":true})"}, {}}};
    const auto runs = store().trigger(batch);
    EXPECT_EQ(states(runs[0].id()), "a RUNNING, b RUNNING");
    EXPECT_EQ(runs[1].status(), RunStatus::error);
    EXPECT_EQ(states(runs[2].id()), "a SKIPPED, b RUNNING");
    EXPECT_EQ(poll().size(), 3U);
}

}  // namespace
}  // namespace pawl::test
