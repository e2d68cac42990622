// Map steps: one task per element.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowMapTest : public FlowTest {
protected:
    template <class F>
    static void expect_refused(F&& call, const std::string& why) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
        EXPECT_TRUE(contains(error.what(), why)) << error.what();
    }
    static Flow listed() {
        return flow("flow").step("list").map("each", "list").step("sum", {"each"});
    }
};
PAWL_FOR_EACH_BACKEND(FlowMapTest);

TEST_P(FlowMapTest, each_element_is_a_task_and_the_outputs_stay_in_order) {
    listed().create(store());
    const RunId run = start_flow("7");
    work_step("list", R"([10,"x",{"k":null}])");
    EXPECT_EQ(step(run, "each").initial_tasks, 3);
    EXPECT_EQ(step(run, "each").remaining_tasks, 3);
    const auto tasks = poll();
    ASSERT_EQ(names(tasks), "each, each.1, each.2");
    EXPECT_EQ(flat(tasks[0].input), "10") << "the element alone";
    EXPECT_EQ(flat(tasks[1].input), R"("x")");
    EXPECT_EQ(flat(tasks[2].input), R"({"k":null})");
    EXPECT_EQ(flat(task(run, "each", 2).input), R"({"k":null})");
    complete(tasks[2], R"("third")");
    EXPECT_EQ(step(run, "each").remaining_tasks, 2);
    EXPECT_EQ(step(run, "each").status, StepStatus::running);
    complete(tasks[0], R"("first")");
    EXPECT_TRUE(poll().empty());
    complete(tasks[1], "null");
    EXPECT_EQ(step(run, "each").status, StepStatus::success);
    EXPECT_EQ(step(run, "each").remaining_tasks, 0);
    EXPECT_EQ(flat(step(run, "each").output), R"(["first",null,"third"])");
    const Task sum = poll_step("sum");
    EXPECT_EQ(flat(sum.input), R"({"run":7,"each":["first",null,"third"]})");
    complete(sum, "1");
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowMapTest, a_root_map_takes_the_elements_of_the_runs_input) {
    flow("flow").map("each").create(store());
    const RunId run = start_flow(R"([1,[2,3],"\u00e4 \"q\""])");
    const auto tasks = poll();
    ASSERT_EQ(tasks.size(), 3U);
    EXPECT_EQ(flat(tasks[1].input), "[2,3]");
    EXPECT_EQ(flat(tasks[2].input), R"("ä \"q\"")");
    for (const Task& task : tasks) complete(task, flat(task.input));
    EXPECT_EQ(output_of(run), R"({"each":[1,[2,3],"ä \"q\""]})");
}

TEST_P(FlowMapTest, an_empty_array_is_done_immediately) {
    listed().create(store());
    const RunId run = start_flow();
    work_step("list", "[]");
    EXPECT_EQ(states(run), "list SUCCESS, each SUCCESS, sum RUNNING");
    const StepInfo each = step(run, "each");
    EXPECT_EQ(flat(each.output), "[]");
    EXPECT_EQ(each.initial_tasks, 0);
    EXPECT_EQ(each.remaining_tasks, 0);
    EXPECT_EQ(each.completed_at, start);
    EXPECT_EQ(task_states(run), "list.0 SUCCESS, sum.0 QUEUED");
    EXPECT_EQ(flat(poll_step("sum").input), R"({"run":null,"each":[]})");
}

TEST_P(FlowMapTest, an_empty_root_map_may_end_the_run_with_its_start) {
    flow("flow").map("each").map("again", "each").create(store());
    const RunId run = start_flow(" [ ] ");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"again":[]})");
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(FlowMapTest, a_chain_of_300_empty_maps_is_done_immediately) {
    Flow chain = flow("flow");
    const auto slug = [](int i) { return "m" + std::to_string(i); };
    chain.step("list");
    for (int i = 0; i < 300; ++i) chain.map(slug(i), i == 0 ? "list" : slug(i - 1));
    chain.step("end", {slug(299)}).create(store());
    const RunId run = start_flow();
    work_step("list", "[]");
    EXPECT_EQ(info(run).remaining_steps, 1);
    EXPECT_EQ(flat(step(run, "m299").output), "[]");
    work_step("end", "1");
    EXPECT_EQ(status(run), RunStatus::success);
    Flow rooted = flow("rooted").map(slug(0));
    for (int i = 1; i < 300; ++i) rooted.map(slug(i), slug(i - 1));
    rooted.create(store());
    EXPECT_EQ(status(start_flow("[]", {}, "rooted")), RunStatus::success);
}

TEST_P(FlowMapTest, maps_over_maps) {
    flow("flow").map("one").map("two", "one").create(store());
    const RunId run = start_flow("[1,2]");
    for (const Task& task : poll()) complete(task, "\"" + task.input.text + "\"");
    const auto tasks = poll();
    ASSERT_EQ(names(tasks), "two, two.1");
    EXPECT_EQ(flat(tasks[1].input), R"("2")");
    complete(tasks[1], "20");
    complete(tasks[0], "10");
    EXPECT_EQ(output_of(run), R"({"two":[10,20]})");
}

TEST_P(FlowMapTest, an_output_that_a_map_cannot_take_fails_the_step_that_gave_it) {
    for (const std::string output : {R"({"a":1})", "null", R"("[]")", "5"}) {
        const std::string slug = "flow_" + std::to_string(store().workflows().size());
        flow(slug)
            .step("side")
            .step("list")
            .step("plain", {"list"})
            .map("each", "list")
            .create(store());
        const RunId run = start_flow("null", {}, slug);
        const auto tasks = poll(100, slug);
        ASSERT_EQ(names(tasks), "side, list");
        EXPECT_EQ(complete(tasks[1], output), TaskOutcome::done) << "the completion itself is good";
        EXPECT_EQ(status(run), RunStatus::error);
        const model::RunError error = error_in(info(run).error);
        EXPECT_EQ(error.type, "not_an_array");
        EXPECT_EQ(error.step, "list");
        EXPECT_EQ(error.attempt, 1);
        EXPECT_EQ(
            error.message,
            "step 'list' must return an array: map step 'each' has one task per element"
        );
        EXPECT_EQ(states(run), "side CANCELLED, list ERROR, plain CANCELLED, each CANCELLED");
        EXPECT_EQ(flat(step(run, "list").error), flat(info(run).error));
        EXPECT_EQ(flat(task(run, "list").output), output) << "it can be read";
        EXPECT_EQ(flat(step(run, "list").output), output);
        EXPECT_EQ(task(run, "list").error, "not_an_array: " + error.message);
        EXPECT_EQ(task_states(run), "side.0 CANCELLED, list.0 ERROR")
            << "no task of 'plain' was created";
        EXPECT_EQ(info(run).remaining_steps, 4);
        EXPECT_TRUE(has_event(run, "step_failed"));
        EXPECT_TRUE(has_event(run, "run_failed"));
        EXPECT_EQ(count(Rows::messages), 0);
    }
}

TEST_P(FlowMapTest, a_retry_executes_the_step_again_whose_output_was_not_an_array) {
    flow("flow").step("list").map("each", "list").create(store());
    const RunId failed = start_flow();
    work_step("list", "{}");
    EXPECT_EQ(status(failed), RunStatus::error);
    const RunId run = store().retry(failed).id();
    EXPECT_EQ(states(run), "list RUNNING, each PENDING");
    work_step("list", "[1]");
    work_step("each", "2");
    EXPECT_EQ(output_of(run), R"({"each":[2]})");
}

TEST_P(FlowMapTest, a_map_that_is_skipped_or_younger_than_the_run_needs_no_array) {
    flow("flow")
        .step("list")
        .map("each", "list", {.required_input_pattern = Json{R"({"list":[1]})"}})
        .create(store());
    const RunId skipped = start_flow();
    work_step("list", "{}");
    EXPECT_EQ(states(skipped), "list SUCCESS, each SKIPPED");
    const RunId older = start_flow();
    flow("flow").map("late", "list").create(store());
    work_step("list", "{}");
    EXPECT_EQ(states(older), "list SUCCESS, each SKIPPED");
}

// In one commit: other successes stay, and nothing of the run starts.
TEST_P(FlowMapTest, of_reports_in_one_commit_an_output_of_the_wrong_kind_fails_its_own_run) {
    flow("flow").step("list").step("b").map("each", "list").step("c", {"b"}).create(store());
    const RunId bad = start_flow();
    const RunId good = start_flow();
    std::vector<Write> writes;
    for (const HeldTask& held : claim_tasks()) {
        const bool wrong = held.ref().run == bad && held.ref().step == "list";
        writes.push_back(complete_write(held, wrong ? "{}" : "[5]"));
    }
    std::ranges::reverse(writes);  // the wrong one comes last
    for (const WriteStatus status : commit_all(writes)) EXPECT_EQ(status, WriteStatus::done);
    EXPECT_EQ(states(good), "list SUCCESS, b SUCCESS, each RUNNING, c RUNNING");
    EXPECT_EQ(step(bad, "list").status, StepStatus::error);
    EXPECT_EQ(step(bad, "b").status, StepStatus::success);
    EXPECT_EQ(step(bad, "each").status, StepStatus::cancelled);
    EXPECT_EQ(step(bad, "c").status, StepStatus::cancelled);
    EXPECT_EQ(info(bad).remaining_steps, 3);
}

TEST_P(FlowMapTest, an_input_that_a_root_map_cannot_take_is_refused_and_stores_nothing) {
    flow("flow").step("side").map("each").create(store());
    for (const std::string input : {R"({"a":1})", "null", R"("[]")", " 5 "}) {
        expect_refused(
            [&] { (void)start_flow(input); },
            "the input of flow 'flow' must be a JSON array: its map step 'each' has one task per "
            "element"
        );
    }
    EXPECT_EQ(count(Rows::runs), 0);
    EXPECT_EQ(count(Rows::steps), 0);
    EXPECT_EQ(count(Rows::tasks), 0);
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(FlowMapTest, a_refused_input_refuses_its_whole_batch) {
    flow("flow").map("each").create(store());
    const std::vector<NewRun> batch{{"flow", Json{"[1]"}, {}}, {"flow", Json{"{}"}, {}}};
    expect_refused([&] { (void)store().trigger(batch); }, "JSON array");
    EXPECT_EQ(count(Rows::runs), 0);
}

TEST_P(FlowMapTest, a_used_key_returns_its_run_for_any_input) {
    flow("flow").map("each").create(store());
    const RunId run = start_flow("[1]", {.idempotency_key = "k"});
    EXPECT_EQ(start_flow("{}", {.idempotency_key = "k"}), run);
}

TEST_P(FlowMapTest, a_root_map_that_is_skipped_needs_no_array) {
    flow("flow").step("a").map(
                              "each", {}, {.required_input_pattern = Json{R"({"list":true})"}}
    ).create(store());
    const RunId run = start_flow(R"({"a":1})");
    EXPECT_EQ(states(run), "a RUNNING, each SKIPPED");
    expect_refused([&] { (void)start_flow(R"({"list":true})"); }, "JSON array");
}

// A run that the engine itself triggers has no caller that could handle an error.
TEST_P(FlowMapTest, a_dead_letter_flow_with_a_root_map_fails_with_its_start) {
    flow("rescue").map("each").create(store());
    flow("flow").max_attempts(1).step("a").create(store());
    store().create_workflow("flow", {.dead_letter_workflow = "rescue"});
    const RunId run = start_flow();
    EXPECT_EQ(fail(poll_step("a")), TaskOutcome::done);
    EXPECT_EQ(status(run), RunStatus::error);
    const auto rescue = store().runs({.workflow = "rescue"});
    ASSERT_EQ(rescue.size(), 1U);
    EXPECT_EQ(error_in(rescue[0].error).type, "not_an_array");
}

TEST_P(FlowMapTest, a_skipped_dependency_is_an_empty_array) {
    flow("flow")
        .step("list", {}, {.max_attempts = 1, .when_exhausted = WhenExhausted::skip})
        .map("each", "list")
        .step("after", {"each"})
        .create(store());
    const RunId run = start_flow();
    fail(poll_step("list"));
    EXPECT_EQ(states(run), "list SKIPPED, each SUCCESS, after RUNNING");
    EXPECT_EQ(flat(step(run, "each").output), "[]");
    EXPECT_EQ(step(run, "each").initial_tasks, 0);
    EXPECT_EQ(flat(poll_step("after").input), R"({"run":null,"each":[]})");
}

TEST_P(FlowMapTest, two_maps_over_one_list_do_not_mix) {
    flow("flow")
        .step("list")
        .map("x", "list")
        .map("y", "list")
        .step("z", {"x", "y"})
        .create(store());
    const RunId run = start_flow();
    work_step("list", "[1,2,3]");
    const auto tasks = poll();
    ASSERT_EQ(tasks.size(), 6U);
    for (const Task& task : tasks) complete(task, "\"" + task.task.step + task.input.text + "\"");
    EXPECT_EQ(
        flat(poll_step("z").input), R"({"run":null,"x":["x1","x2","x3"],"y":["y1","y2","y3"]})"
    );
    EXPECT_EQ(status(run), RunStatus::running);
}

TEST_P(FlowMapTest, one_failed_element_fails_the_run_and_cancels_the_others) {
    listed().max_attempts(1).create(store());
    const RunId run = start_flow();
    work_step("list", "[1,2,3]");
    const auto tasks = poll();
    complete(tasks[0], "1");
    fail(tasks[1], "element 2");
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).step, "each");
    EXPECT_EQ(task_states(run), "list.0 SUCCESS, each.0 SUCCESS, each.1 ERROR, each.2 CANCELLED");
    EXPECT_EQ(step(run, "sum").status, StepStatus::cancelled);
}

TEST_P(FlowMapTest, elements_are_retried_one_by_one) {
    listed().max_attempts(2).create(store());
    const RunId run = start_flow();
    work_step("list", "[1,2]");
    const auto tasks = poll();
    fail(tasks[0]);
    complete(tasks[1], "2");
    EXPECT_TRUE(poll().empty());
    advance(10s);
    const Task again = poll_one();
    EXPECT_EQ(again.task, (TaskRef{run, "each", 0}));
    EXPECT_EQ(flat(again.input), "1");
    EXPECT_EQ(again.attempts, 2);
    complete(again, "1");
    EXPECT_EQ(flat(step(run, "each").output), "[1,2]");
}

TEST_P(FlowMapTest, a_thousand_elements) {
    listed().create(store());
    const RunId run = start_flow();
    std::string list = "[0";
    for (int i = 1; i < 1000; ++i) list += "," + std::to_string(i);
    list += "]";
    work_step("list", list);
    EXPECT_EQ(step(run, "each").initial_tasks, 1000);
    int done = 0;
    while (done < 1000) {
        const auto held = claim_tasks(300);
        ASSERT_FALSE(held.empty());
        std::vector<Write> writes;
        // In reverse, so that the order of the ends is not that of the elements.
        for (auto one = held.rbegin(); one != held.rend(); ++one)
            writes.push_back(complete_write(*one, one->message.payload.text));
        for (const WriteStatus status : commit_all(writes)) ASSERT_EQ(status, WriteStatus::done);
        done += static_cast<int>(held.size());
        ASSERT_EQ(step(run, "each").remaining_tasks, 1000 - done);
    }
    EXPECT_EQ(flat(step(run, "each").output), list);
    work_step("sum", "1");
    EXPECT_EQ(status(run), RunStatus::success);
}

}  // namespace
}  // namespace pawl::test
