// Starting flows: what is stored, options, keys, batches, the user's transaction.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowStartTest : public FlowTest {};
PAWL_FOR_EACH_BACKEND(FlowStartTest);
class FlowStartInTransactionTest : public FlowStartTest {};
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, FlowStartInTransactionTest);

TEST_P(FlowStartTest, a_run_has_all_its_steps_and_the_tasks_of_the_root) {
    diamond().create(store());
    const Run run = flow("flow").start(Json{R"({"n":1})"}).execute(store());
    EXPECT_TRUE(run.created());
    const RunInfo seen = run.info();
    EXPECT_EQ(seen.workflow, "flow");
    EXPECT_EQ(seen.status, RunStatus::queued);
    EXPECT_EQ(seen.input.text, R"({"n":1})");
    EXPECT_EQ(seen.remaining_steps, 4);
    EXPECT_EQ(seen.created_at, start);
    EXPECT_FALSE(seen.started_at || seen.completed_at || seen.output || seen.error);
    EXPECT_EQ(states(run.id()), "a RUNNING, b PENDING, c PENDING, d PENDING");
    EXPECT_EQ(task_states(run.id()), "a.0 QUEUED");
    EXPECT_EQ(count(Rows::messages), 1) << "the run itself has none";
    EXPECT_FALSE(message(MessageId(run.id().value())));
}

TEST_P(FlowStartTest, the_counters_stand_at_the_beginning) {
    diamond().create(store());
    const RunId run = start_flow();
    const auto steps = store().run(run).steps();
    ASSERT_EQ(steps.size(), 4U);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(steps[static_cast<std::size_t>(i)].position, i);
    EXPECT_EQ(steps[0].remaining_deps, 0);
    EXPECT_EQ(steps[0].initial_tasks, 1);
    EXPECT_EQ(steps[0].remaining_tasks, 1);
    EXPECT_EQ(steps[0].started_at, start);
    EXPECT_EQ(steps[1].remaining_deps, 1);
    EXPECT_EQ(steps[3].remaining_deps, 2);
    EXPECT_FALSE(steps[3].initial_tasks || steps[3].remaining_tasks);
    EXPECT_FALSE(steps[3].started_at || steps[3].completed_at);
    EXPECT_EQ(steps[3].skip_reason, "");
    const TaskInfo first = task(run, "a");
    EXPECT_EQ(first.attempts, 0);
    EXPECT_EQ(first.delivery, 0);
    EXPECT_EQ(first.queued_at, start);
    EXPECT_FALSE(first.started_at || first.completed_at || first.output || first.input);
    ASSERT_TRUE(message(first.message));
    EXPECT_EQ(message(first.message)->state, MessageState::ready);
}

TEST_P(FlowStartTest, a_flow_without_steps_succeeds_immediately) {
    store().create_flow("flow");
    const RunId run = start_flow();
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::success);
    EXPECT_EQ(output_of(run), "{}");
    EXPECT_EQ(seen.remaining_steps, 0);
    EXPECT_EQ(seen.completed_at, start);
    EXPECT_TRUE(store().run(run).tasks().empty());
    EXPECT_EQ(store().run(run).wait_json(0s).text, "{}");
}

TEST_P(FlowStartTest, options_are_those_of_every_trigger) {
    diamond().create(store());
    const RunId run = start_flow(
        "1",
        {.priority = 5,
         .idempotency_key = "k",
         .max_attempts = 2,
         .parent = RunId(77),
         .tags = {"t", "u"}}
    );
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.priority, 5);
    EXPECT_EQ(seen.max_attempts, 2);
    EXPECT_EQ(seen.parent, RunId(77));
    EXPECT_EQ(seen.idempotency_key, "k");
    EXPECT_EQ(seen.tags.size(), 2U);
    EXPECT_EQ(store().runs({.tag = "u"}).size(), 1U);
    EXPECT_EQ(message(task(run, "a").message)->priority, 5);
}

TEST_P(FlowStartTest, later_tasks_have_the_priority_of_the_run_too) {
    diamond().create(store());
    const RunId low = start_flow("null", {.priority = -1});
    const RunId high = start_flow("null", {.priority = 5});
    EXPECT_EQ(poll_one().task.run, high);
    advance(1h);
    const Task again = poll_one();
    EXPECT_EQ(again.task.run, high);
    complete(again);
    for (int i = 0; i < 2; ++i) {
        const Task task = poll_one();
        EXPECT_EQ(task.task.run, high) << task.task.step << " before a of the other run";
        complete(task);
    }
    complete(poll_one());
    EXPECT_EQ(status(high), RunStatus::success);
    EXPECT_EQ(poll_one().task.run, low);
}

TEST_P(FlowStartTest, a_delay_is_that_of_the_root_tasks_only) {
    flow("flow").step("a").step("b").step("c", {"a", "b"}).create(store());
    const RunId run = start_flow("null", {.delay = 10s});
    const RunId at = start_flow("null", {.at = start + 20s});
    EXPECT_EQ(states(run), "a RUNNING, b RUNNING, c PENDING");
    EXPECT_EQ(status(run), RunStatus::queued);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(claim_work().next_due, start + 10s);
    advance(10s);
    const auto roots = poll();
    ASSERT_EQ(names(roots), "a, b");
    for (const Task& task : roots) complete(task);
    work_step("c");
    EXPECT_EQ(status(run), RunStatus::success);
    advance(10s);
    EXPECT_EQ(poll_one().task.run, at);
}

TEST_P(FlowStartTest, max_attempts_of_the_trigger_applies_if_the_step_has_none) {
    flow("flow").max_attempts(5).step("own", {}, {.max_attempts = 3}).step("flows").create(store());
    (void)start_flow("null", {.max_attempts = 2});
    (void)start_flow();
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 4U);
    EXPECT_EQ(held[0].claimed.max_attempts, 3);
    EXPECT_EQ(held[1].claimed.max_attempts, 2);
    EXPECT_EQ(held[2].claimed.max_attempts, 3);
    EXPECT_EQ(held[3].claimed.max_attempts, 5);
}

TEST_P(FlowStartTest, a_key_starts_one_run) {
    diamond().create(store());
    const Run first = flow("flow").start(Json{"1"}).idempotency_key("k").execute(store());
    const Run second = flow("flow").start(Json{"2"}).idempotency_key("k").execute(store());
    EXPECT_TRUE(first.created());
    EXPECT_FALSE(second.created());
    EXPECT_EQ(second.id(), first.id());
    EXPECT_EQ(count(Rows::tasks), 1);
    EXPECT_EQ(count(Rows::steps), 4);
    drain();
    EXPECT_EQ(start_flow("null", {.idempotency_key = "k"}), first.id()) << "finished ones keep it";
    store().delete_run(first.id(), "again");
    EXPECT_NE(start_flow("null", {.idempotency_key = "k"}), first.id());
}

TEST_P(FlowStartTest, batches_mix_flows_and_workflows) {
    diamond().create(store());
    flow("other").step("x").step("y").create(store());
    store().create_flow("empty");
    make_workflow("job");
    const std::vector<NewRun> batch{
        {"job", Json{"0"}, {}},
        {"flow", Json{"1"}, {.idempotency_key = "k"}},
        {"other", Json{"2"}, {}},
        {"flow", Json{"3"}, {.idempotency_key = "k"}},
        {"empty", {}, {}},
        {"flow", Json{"5"}, {.delay = 10s}},
        {"job", Json{"6"}, {}}};
    const auto runs = store().trigger(batch);
    ASSERT_EQ(runs.size(), 7U);
    EXPECT_FALSE(runs[3].created());
    EXPECT_EQ(runs[3].id(), runs[1].id());
    EXPECT_EQ(runs[4].status(), RunStatus::success);
    EXPECT_EQ(states(runs[1].id()), "a RUNNING, b PENDING, c PENDING, d PENDING");
    EXPECT_EQ(states(runs[2].id()), "x RUNNING, y RUNNING");
    EXPECT_EQ(names(poll()), "a") << "the other one is delayed";
    EXPECT_EQ(names(poll(100, "other")), "x, y");
    EXPECT_EQ(claim_many(10).size(), 2U);
    EXPECT_EQ(runs[5].info().input.text, "5");
}

TEST_P(FlowStartTest, many_runs_start_with_one_call) {
    flow("flow").map("each").step("after", {"each"}).create(store());
    std::vector<NewRun> batch;
    for (int i = 0; i < 500; ++i) batch.push_back({"flow", Json{i % 2 == 0 ? "[1,2]" : "[]"}, {}});
    const auto runs = store().trigger(batch);
    for (std::size_t i = 1; i < runs.size(); ++i) ASSERT_LT(runs[i - 1].id(), runs[i].id());
    EXPECT_EQ(count(Rows::tasks), 250 * 2 + 250);
    EXPECT_EQ(count(Rows::messages), 250 * 2 + 250);
    EXPECT_EQ(states(runs[0].id()), "each RUNNING, after PENDING");
    EXPECT_EQ(states(runs[1].id()), "each SUCCESS, after RUNNING");
}

TEST_P(FlowStartTest, no_run_of_a_batch_is_created_if_one_is_invalid) {
    diamond().create(store());
    const std::vector<NewRun> batch{{"flow", {}, {}}, {"nowhere", {}, {}}, {"flow", {}, {}}};
    EXPECT_EQ(error_of([&] { store().trigger(batch); }).code(), ErrorCode::workflow_not_found);
    EXPECT_EQ(error_of([&] { (void)start_flow("{"); }).code(), ErrorCode::invalid_payload);
    for (const Rows rows : {Rows::runs, Rows::steps, Rows::tasks, Rows::messages})
        EXPECT_EQ(count(rows), 0) << rows;
}

TEST_P(FlowStartInTransactionTest, nothing_is_visible_before_the_users_transaction_commits) {
    diamond().create(store());
    const auto mine = kit().connect_user();
    mine->begin();
    const Run run = flow("flow").start(Json{"5"}).tag("t").execute_in(mine->transaction(), store());
    EXPECT_EQ(mine->count(Rows::steps, run.id()), 4) << "the transaction itself sees all of it";
    EXPECT_EQ(mine->count(Rows::tasks, run.id()), 1);
    EXPECT_TRUE(poll().empty());
    EXPECT_FALSE(detail::Access::backend(store())->find_run(run.id()));
    EXPECT_TRUE(detail::Access::backend(store())->tasks(run.id()).empty());
    mine->commit();
    EXPECT_EQ(poll_one().task.run, run.id());
}

TEST_P(FlowStartInTransactionTest, a_transaction_that_rolls_back_starts_nothing) {
    diamond().create(store());
    make_workflow("job");
    const auto mine = kit().connect_user();
    mine->begin();
    const std::vector<NewRun> batch{{"flow", {}, {.idempotency_key = "k"}}, {"job", {}, {}}};
    EXPECT_EQ(store().trigger_in(mine->transaction(), batch).size(), 2U);
    mine->rollback();
    for (const Rows rows : {Rows::runs, Rows::steps, Rows::tasks, Rows::messages})
        EXPECT_EQ(count(rows), 0) << rows;
    EXPECT_TRUE(flow("flow").start().idempotency_key("k").execute(store()).created());
}

TEST_P(FlowStartTest, a_workflow_in_code_cannot_be_started_as_a_flow) {
    diamond().create(store());
    make_workflow();
    const std::string refusal =
        "flow 'job' does not exist; create it with store.create_flow(\"job\"), or use trigger() if "
        "it is a "
        "workflow in code";
    const auto expect_refusal = [&](const std::function<void()>& starts) {
        const Error error = error_of(starts);
        EXPECT_EQ(error.code(), ErrorCode::flow_not_found);
        EXPECT_EQ(std::string(error.what()), refusal);
    };
    expect_refusal([&] { (void)flow("job").start().execute(store()); });
    expect_refusal([&] { (void)flow("job").start().idempotency_key("k").execute(store()); });
    expect_refusal([&] {
        const std::vector<Trigger> batch{
            flow("flow").start(), workflow("job").trigger(), flow("job").start()};
        (void)store().trigger(batch);
    });
    for (const Rows rows : {Rows::runs, Rows::steps, Rows::tasks, Rows::messages})
        EXPECT_EQ(count(rows), 0) << rows;
    EXPECT_TRUE(workflow("flow").trigger().execute(store()).created()) << "a flow is a workflow";
}

TEST_P(FlowStartInTransactionTest, a_refused_start_leaves_the_transaction_usable) {
    make_workflow();
    const auto mine = kit().connect_user();
    mine->begin();
    const Error error =
        error_of([&] { (void)flow("job").start().execute_in(mine->transaction(), store()); });
    EXPECT_EQ(error.code(), ErrorCode::flow_not_found);
    const Run run = workflow("job").trigger().execute_in(mine->transaction(), store());
    mine->commit();
    EXPECT_EQ(count(Rows::runs), 1);
    EXPECT_EQ(status(run.id()), RunStatus::queued);
}

TEST_P(FlowStartTest, fifty_roots_start_together) {
    Flow wide = flow("flow");
    std::vector<std::string> roots;
    for (int i = 0; i < 50; ++i) {
        roots.push_back("root_" + std::to_string(i));
        wide.step(roots.back());
    }
    wide.step("join", roots).create(store());
    const RunId run = start_flow("7");
    const auto tasks = poll(1000);
    ASSERT_EQ(tasks.size(), 50U);
    for (std::size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(tasks[i].task.step, roots[i]) << "in the order of the steps";
        EXPECT_EQ(flat(tasks[i].input), R"({"run":7})");
        EXPECT_TRUE(poll().empty());
        complete(tasks[i], std::to_string(i));
    }
    const Task join = poll_step("join");
    EXPECT_TRUE(contains(flat(join.input), R"({"run":7,"root_0":0,"root_1":1,)"));
    EXPECT_TRUE(contains(flat(join.input), R"("root_49":49})"));
    complete(join, "true");
    EXPECT_EQ(output_of(run), R"({"join":true})");
}

}  // namespace
}  // namespace pawl::test
