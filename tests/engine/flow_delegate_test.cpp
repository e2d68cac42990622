// Steps of a flow whose tasks are runs of a workflow.
#include <atomic>
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowDelegateTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        make_workflow("job");
    }
    // A worker whose flow "flow" executes all steps by the workflow "job".
    template <class F>
    [[nodiscard]] Worker delegating(F function) const {
        FlowHandlers handlers;
        for (const FlowStep& step : store().flow_shape("flow").steps)
            handlers.on(step.slug, workflow("job"));
        return worker("w")
            .flow("flow", handlers)
            .handle("job", std::move(function))
            .share_threads(shares_threads())
            .create(store());
    }
    static void drain_with(Worker& worker) {
        while (worker.poll_once() > 0) continue;
    }
    [[nodiscard]] std::vector<RunInfo> jobs() const { return store().runs({.workflow = "job"}); }
};
PAWL_FOR_EACH_BACKEND(FlowDelegateTest);

TEST_P(FlowDelegateTest, a_task_ends_with_the_output_of_its_run) {
    flow("flow").step("a").step("b", {"a"}).create(store());
    auto made = delegating([](Context& ctx, const nlohmann::json& input) {
        return ctx.step("sum", [&] { return input.at("run").get<int>() + input.value("a", 0); });
    });
    const RunId run = start_flow("20", {.priority = 7});
    drain_with(made);
    EXPECT_EQ(output_of(run), R"({"b":40})");
    ASSERT_EQ(jobs().size(), 2U);
    for (const RunInfo& job : jobs()) {
        EXPECT_EQ(job.parent, run);
        EXPECT_EQ(job.priority, 7);
        EXPECT_EQ(job.status, RunStatus::success);
    }
    EXPECT_EQ(count(Rows::calls), 0);
}

TEST_P(FlowDelegateTest, while_its_run_is_live_the_task_is_running_and_is_not_delivered) {
    flow("flow").step("a").create(store());
    auto made = delegating([](Context& ctx) { return ctx.pause<int>("ask", "how many?"); });
    const RunId run = start_flow();
    drain_with(made);
    EXPECT_EQ(task(run, "a").status, TaskStatus::running);
    EXPECT_EQ(jobs().front().status, RunStatus::paused);
    EXPECT_EQ(jobs().front().parent, run);
    advance(10h);  // longer than any lease
    EXPECT_TRUE(poll().empty());
    store().resume(jobs().front().id, "ask", Json{"3"});
    drain_with(made);
    EXPECT_EQ(output_of(run), R"({"a":3})");
}

TEST_P(FlowDelegateTest, a_run_that_fails_is_a_failed_attempt_and_the_next_one_a_new_run) {
    flow("flow").step("a").create(store());
    std::atomic<int> calls = 0;
    auto made = delegating([&](Context&) {
        if (++calls == 1) throw PermanentError("no luck");
        return 5;
    });
    const RunId run = start_flow();
    drain_with(made);
    EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
    EXPECT_EQ(task(run, "a").attempts, 1);
    EXPECT_TRUE(contains(task(run, "a").error, "no luck"));
    advance(1h);
    drain_with(made);
    EXPECT_EQ(output_of(run), R"({"a":5})");
    EXPECT_EQ(jobs().size(), 2U);
}

TEST_P(FlowDelegateTest, with_all_attempts_used_up_the_flow_fails_of_it) {
    flow("flow").max_attempts(1).step("a").create(store());
    auto made = delegating([](Context&) { throw PermanentError("no luck"); });
    const RunId run = start_flow();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "no luck"));
    EXPECT_EQ(error_in(info(run).error).step, "a");
}

TEST_P(FlowDelegateTest, a_map_is_a_run_per_element) {
    flow("flow").map("a").step("b", {"a"}).create(store());
    auto made = delegating([](Context&, const nlohmann::json& input) {
        return input.is_number() ? nlohmann::json(input.get<int>() * 2) : input.at("a");
    });
    const RunId run = start_flow("[1, 2, 3]");
    drain_with(made);
    EXPECT_EQ(output_of(run), R"({"b":[2,4,6]})");
    EXPECT_EQ(jobs().size(), 4U);
}

TEST_P(FlowDelegateTest, cancelling_the_flow_cancels_its_runs) {
    flow("flow").map("a").create(store());
    auto made = delegating([](Context& ctx) { ctx.pause("ask", "a person"); });
    const RunId run = start_flow("[1, 2]");
    drain_with(made);
    store().cancel(run, "not wanted");
    ASSERT_EQ(jobs().size(), 2U);
    for (const RunInfo& job : jobs()) EXPECT_EQ(job.status, RunStatus::cancelled);
    EXPECT_EQ(count(Rows::calls), 0);
    EXPECT_EQ(task_states(run), "a.0 CANCELLED, a.1 CANCELLED");
}

TEST_P(FlowDelegateTest, a_task_that_fails_the_flow_cancels_the_runs_of_its_siblings) {
    flow("flow").map("a", {}, {.max_attempts = 1}).create(store());
    auto made = delegating([](Context& ctx, int n) {
        if (n == 1) throw PermanentError("no luck");
        ctx.pause("ask", "a person");
    });
    const RunId run = start_flow("[2, 1]");
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    for (const RunInfo& job : jobs()) EXPECT_NE(job.status, RunStatus::paused);
    EXPECT_EQ(count(Rows::calls), 0);
}

TEST_P(FlowDelegateTest, a_task_whose_step_is_skipped_cancels_the_runs_of_its_siblings) {
    flow("flow")
        .map("a", {}, {.max_attempts = 1, .when_exhausted = WhenExhausted::skip})
        .step("b")
        .create(store());
    auto made = delegating([](Context& ctx, const nlohmann::json& n) {
        if (n == 1) throw PermanentError("no luck");
        ctx.pause("ask", "a person");
    });
    const RunId run = start_flow("[2, 1]");
    drain_with(made);
    EXPECT_EQ(states(run), "a SKIPPED, b RUNNING");
    EXPECT_EQ(task_states(run), "a.0 SKIPPED, a.1 ERROR, b.0 RUNNING");
    std::string waiting;  // the run called by b
    for (const RunInfo& job : jobs()) {
        if (job.status == RunStatus::paused) waiting += job.input.text + " ";
    }
    EXPECT_EQ(waiting, R"({"run":[2, 1]} )");
    EXPECT_EQ(count(Rows::calls), 1);
}

TEST_P(FlowDelegateTest, a_run_that_is_cancelled_is_a_failed_attempt) {
    flow("flow").max_attempts(1).step("a").create(store());
    auto made = delegating([](Context& ctx) { ctx.pause("ask", "a person"); });
    const RunId run = start_flow();
    drain_with(made);
    store().cancel(jobs().front().id, "not wanted");
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(task(run, "a").error, "not wanted"));
}

TEST_P(FlowDelegateTest, a_step_may_be_another_flow) {
    flow("inner").step("x").create(store());
    flow("flow").step("a").step("b", {"a"}).create(store());
    auto made = worker("w")
                    .flow(
                        "flow",
                        FlowHandlers()
                            .on("a", workflow("inner"))
                            .on("b",
                                [](TaskContext&, const nlohmann::json& in) {
                                    return in.at("a").at("x").get<int>() + 1;
                                })
                    )
                    .flow("inner", FlowHandlers().on("x", [](TaskContext&) { return 1; }))
                    .create(store());
    const RunId run = start_flow();
    drain_with(made);
    EXPECT_EQ(output_of(run), R"({"b":2})");
}

TEST_P(FlowDelegateTest, a_workflow_that_was_deleted_fails_the_task) {
    flow("flow").step("a").create(store());
    auto made = worker("w").flow("flow", FlowHandlers().on("a", workflow("job"))).create(store());
    const RunId run = start_flow();
    store().delete_workflow("job");
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(task(run, "a").error, "its run could not be created"));
    EXPECT_TRUE(contains(task(run, "a").error, "job"));
}

// The first one makes the map and the run fail: the task of the other one does not stay open.
TEST_P(FlowDelegateTest, of_runs_that_end_together_one_may_end_the_task_of_the_other) {
    flow("flow").step("a").step("b").map("each", "a").create(store());
    const RunId run = start_flow();
    for (const HeldTask& held : claim_tasks()) {
        const NewRun called{"job", Json{"1"}, {.idempotency_key = held.ref().step}};
        ASSERT_EQ(commit(delegate_write(held, called)), WriteStatus::done);
    }
    const auto held = claim_many(2);
    ASSERT_EQ(info(held[0].id()).idempotency_key, "a");
    EXPECT_EQ(
        commit_all({success(held[0].lease(), "1"), failure(held[1].lease())}),
        (std::vector<WriteStatus>{WriteStatus::done, WriteStatus::done})
    );
    EXPECT_EQ(error_in(info(run).error).type, "not_an_array");
    EXPECT_EQ(states(run), "a ERROR, b CANCELLED, each CANCELLED");
    EXPECT_EQ(task_states(run), "a.0 ERROR, b.0 CANCELLED");
    EXPECT_EQ(count(Rows::messages), 0);
    EXPECT_EQ(count(Rows::calls), 0);
}

// The answer to the commit was lost: the repetition does not create a second run.
TEST_P(FlowDelegateTest, a_delegation_that_is_repeated_makes_one_run) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    NewRun called{"job", held.message.payload, {}};
    called.options.parent = run;
    const Write write = delegate_write(held, called);
    EXPECT_EQ(commit(write), WriteStatus::done);
    EXPECT_EQ(commit(write, Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(jobs().size(), 1U);
    EXPECT_EQ(count(Rows::calls), 1);
    auto made = worker_for([](Context&) { return 5; });
    drain_with(made);
    EXPECT_EQ(output_of(run), R"({"a":5})");
}

}  // namespace
}  // namespace pawl::test
