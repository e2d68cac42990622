// SQLite's specifics for flows: ids without a sequence, cached definitions, plans, and the length
// of chains within one transaction.
#include <fmt/format.h>

#include "generated/sqlite_sql.h"
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowSqliteTest : public FlowTest {
protected:
    std::string plan(const store::Statement& statement) const {
        std::string steps;
        for (const Row& row : database()->rows("explain query plan " + std::string(statement.text)))
            steps += row.back() + "\n";
        return steps;
    }
    // Each table is read through a key or an index, and nothing is sorted.
    void expect_no_scan(const store::Statement& statement) const {
        const std::string steps = plan(statement);
        EXPECT_EQ(steps.find("SCAN pawl_"), std::string::npos) << statement.name << "\n" << steps;
        EXPECT_EQ(steps.find("SCAN m\n"), std::string::npos) << statement.name << "\n" << steps;
        EXPECT_EQ(steps.find("SCAN t\n"), std::string::npos) << statement.name << "\n" << steps;
        EXPECT_EQ(steps.find("SCAN r\n"), std::string::npos) << statement.name << "\n" << steps;
        EXPECT_EQ(steps.find("TEMP B-TREE"), std::string::npos) << statement.name << "\n" << steps;
    }
};
INSTANTIATE_TEST_SUITE_P(, FlowSqliteTest, ::testing::Values(BackendKind::sqlite), backend_name);

TEST_P(FlowSqliteTest, runs_and_messages_are_numbered_together) {
    flow("flow").step("a").create(store());
    const RunId first = start_flow();
    EXPECT_EQ(first, RunId(1)) << "the first number of an empty store";
    EXPECT_EQ(task(first, "a").message, MessageId(2));
    make_queue();
    EXPECT_EQ(store().queue("work").enqueue(Json{"1"}), MessageId(3));
    const RunId second = start_flow();
    EXPECT_EQ(second, RunId(4));
    EXPECT_EQ(task(second, "a").message, MessageId(5));
}

TEST_P(FlowSqliteTest, a_number_is_not_given_again) {
    flow("flow").step("a").create(store());
    const RunId first = start_flow();
    store().cancel(first, "no");  // deletes the last message
    EXPECT_EQ(start_flow(), RunId(3));
}

TEST_P(FlowSqliteTest, a_step_that_another_process_adds_is_seen) {
    flow("flow").step("a").create(store());
    const RunId before = start_flow();
    open().add_step("flow", {"b", StepType::single, {"a"}, {}});
    const RunId after = start_flow();
    EXPECT_EQ(states(before), "a RUNNING");
    EXPECT_EQ(states(after), "a RUNNING, b PENDING");
    EXPECT_EQ(drain(), 3);
    EXPECT_EQ(output_of(before), R"({"a":null})");
    EXPECT_EQ(output_of(after), R"({"b":null})");
}

TEST_P(FlowSqliteTest, options_that_another_process_changes_apply_immediately) {
    flow("flow").max_attempts(3).step("a").create(store());
    const RunId run = start_flow();
    open().create_flow("flow", {.max_attempts = 1});
    EXPECT_EQ(fail(poll_one()), TaskOutcome::done);
    EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(FlowSqliteTest, a_flow_that_was_created_again_is_another_one) {
    flow("flow").step("a").create(store());
    (void)start_flow();
    open().delete_flow_and_data("flow", DeleteMode::force);
    flow("flow").step("b").step("c", {"b"}).create(store());
    const RunId run = start_flow();
    EXPECT_EQ(states(run), "b RUNNING, c PENDING");
    EXPECT_EQ(drain(), 2);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowSqliteTest, a_declaration_that_is_refused_leaves_nothing) {
    EXPECT_THROW(flow("flow").step("a").step("b", {"missing"}).create(store()), Error);
    EXPECT_EQ(database()->number("select count(*) from pawl_queues"), 0);
    flow("flow").step("z").create(store());
    const RunId run = start_flow();
    EXPECT_EQ(states(run), "z RUNNING");
}

TEST_P(FlowSqliteTest, plans_do_not_scan) {
    for (const store::Statement* statement : {
             &sqlite::sql::due_tasks,          &sqlite::sql::claimed_task,
             &sqlite::sql::start_task,         &sqlite::sql::held_task,
             &sqlite::sql::succeed_task,       &sqlite::sql::task_outputs,
             &sqlite::sql::flow_run,           &sqlite::sql::flow_step,
             &sqlite::sql::start_flow_step,    &sqlite::sql::succeed_flow_step,
             &sqlite::sql::skip_pending_step,  &sqlite::sql::delete_open_messages,
             &sqlite::sql::close_open_tasks,   &sqlite::sql::wake_tasks,
             &sqlite::sql::set_remaining_deps, &sqlite::sql::insert_run_steps,
             &sqlite::sql::called_runs,        &sqlite::sql::list_tasks,
             &sqlite::sql::flow_head,          &sqlite::sql::live_runs,
         })
        expect_no_scan(*statement);
}

// Independent of the number of waiting tasks of other steps.
TEST_P(FlowSqliteTest, a_claim_of_steps_reads_the_index_of_their_lanes) {
    for (const auto* statement :
         {&sqlite::sql::due_lane_tasks,
          &sqlite::sql::top_lane_priority,
          &sqlite::sql::ready_lane_messages,
          &sqlite::sql::next_lane_due}) {
        expect_no_scan(*statement);
        EXPECT_TRUE(contains(plan(*statement), "pawl_messages_lane (")) << statement->name;
    }
}

TEST_P(FlowSqliteTest, the_names_of_pgflow_need_postgresql) {
    const Error error = error_of([&] { store().install(Compat::pgflow); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "use PostgreSQL"));
}

// One transaction each: a recursive engine would exhaust the stack.
TEST_P(FlowSqliteTest, a_chain_of_empty_maps_may_have_any_length) {
    Flow chain("flow");
    chain.map("s0");
    for (int i = 1; i < 3000; ++i) chain.map(fmt::format("s{}", i), fmt::format("s{}", i - 1));
    chain.create(store());
    const RunId run = start_flow("[]");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"s2999":[]})");
}

TEST_P(FlowSqliteTest, a_cascade_may_have_any_length) {
    Flow chain("flow");
    chain.step(
        "s0", {}, {.required_input_pattern = Json{"1"}, .when_unmet = WhenUnmet::skip_cascade}
    );
    for (int i = 1; i < 3000; ++i) chain.step(fmt::format("s{}", i), {fmt::format("s{}", i - 1)});
    chain.create(store());
    const RunId run = start_flow("2");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), "{}");
}

TEST_P(FlowSqliteTest, calls_of_calls_end_in_one_transaction) {
    // Each level's only task waits for a run of the next level; the last one is completed by a user
    // call.
    constexpr int levels = 300;
    std::vector<RunId> runs;
    for (int i = 0; i < levels; ++i) flow(fmt::format("f{}", i)).step("a").create(store());
    runs.push_back(start_flow("null", {}, "f0"));
    for (int i = 0; i + 1 < levels; ++i) {
        const HeldTask held = claim_task(fmt::format("f{}", i));
        TriggerOptions child;
        child.idempotency_key = fmt::format("task:{}", i);
        const NewRun called{fmt::format("f{}", i + 1), Json{"1"}, child};
        ASSERT_EQ(commit(delegate_write(held, called)), WriteStatus::done);
    }
    work_step("a", "7", fmt::format("f{}", levels - 1));
    EXPECT_EQ(status(runs[0]), RunStatus::success);
    EXPECT_EQ(database()->number("select count(*) from pawl_calls"), 0);
    EXPECT_EQ(database()->number("select count(*) from pawl_messages"), 0);
    std::string output = output_of(runs[0]);
    EXPECT_EQ(output.substr(0, 20), R"({"a":{"a":{"a":{"a":)");
}

// Completed tasks of a map are counted once per transaction, but before any other change of their
// run.
TEST_P(FlowSqliteTest, a_map_that_was_done_before_its_run_fails_is_done) {
    flow("flow").map("x").step("a").map("m", "a").create(store());
    const RunId run = start_flow("[1,2]");
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 3U);
    ASSERT_EQ(held[0].ref().step, "a");
    EXPECT_EQ(
        commit_all({complete_write(held[1]), complete_write(held[2]), complete_write(held[0], "1")}
        ),
        std::vector(3, WriteStatus::done)
    );
    EXPECT_EQ(states(run), "x SUCCESS, a ERROR, m CANCELLED");
    EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(FlowSqliteTest, a_report_after_the_end_of_a_map_that_fails_the_run_is_cancelled) {
    flow("flow")
        .map("x")
        .step("a")
        .step("c", {"x"}, {.required_input_pattern = Json{"1"}, .when_unmet = WhenUnmet::fail})
        .create(store());
    const RunId run = start_flow("[1]");
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 2U);
    EXPECT_EQ(
        commit_all({complete_write(held[1]), complete_write(held[0])}),
        (std::vector{WriteStatus::done, WriteStatus::cancelled})
    );
    EXPECT_EQ(states(run), "x SUCCESS, a CANCELLED, c ERROR");
    EXPECT_EQ(info(run).remaining_steps, 2);
}

TEST_P(FlowSqliteTest, a_map_that_is_not_done_when_its_run_fails_is_counted_and_cancelled) {
    flow("flow").max_attempts(1).map("x").create(store());
    const RunId run = start_flow("[1,2,3]");
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 3U);
    EXPECT_EQ(
        commit_all({complete_write(held[0]), fail_write(held[1]), complete_write(held[2])}),
        (std::vector{WriteStatus::done, WriteStatus::done, WriteStatus::cancelled})
    );
    EXPECT_EQ(task_states(run), "x.0 SUCCESS, x.1 ERROR, x.2 CANCELLED");
    EXPECT_EQ(step(run, "x").remaining_tasks, 2);
    EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(FlowSqliteTest, flows_work_in_memory) {
    const Store memory = connect("sqlite::memory:");
    memory.install();
    flow("flow").step("a").map("b", "a").create(memory);
    const Run run = flow("flow").start(Json{"null"}).execute(memory);
    for (auto tasks = memory.poll_for_tasks("flow", 10); !tasks.empty();
         tasks = memory.poll_for_tasks("flow", 10)) {
        for (const Task& task : tasks)
            EXPECT_EQ(
                memory.complete_task(task.task, Json{"[1, \"x,]\" ,{\"y\":[2]}]"}, task.delivery),
                TaskOutcome::done
            );
    }
    EXPECT_EQ(run.status(), RunStatus::success);
    const auto tasks = memory.run(run.id()).tasks();
    ASSERT_EQ(tasks.size(), 4U);
    EXPECT_EQ(tasks[1].input, Json{"1"});
    EXPECT_EQ(tasks[2].input, Json{R"("x,]")"});
    EXPECT_EQ(tasks[3].input, Json{R"({"y":[2]})"});
}

}  // namespace
}  // namespace pawl::test
