// From the roots to the leaves: the order of starts, the inputs, and the stored results.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowOrderTest : public FlowTest {};
PAWL_FOR_EACH_BACKEND(FlowOrderTest);

TEST_P(FlowOrderTest, a_step_starts_when_all_it_depends_on_is_done) {
    diamond().create(store());
    const RunId run = start_flow(R"({"url":"x"})");
    const Task a = poll_step("a");
    EXPECT_EQ(a.flow, "flow");
    EXPECT_EQ(a.task, (TaskRef{run, "a", 0}));
    EXPECT_EQ(flat(a.input), R"({"run":{"url":"x"}})");
    EXPECT_EQ(a.attempts, 1);
    EXPECT_EQ(a.delivery, 1);
    EXPECT_EQ(complete(a, R"({"n":1})"), TaskOutcome::done);
    const auto both = poll();
    ASSERT_EQ(names(both), "b, c");
    EXPECT_EQ(flat(both[0].input), R"({"run":{"url":"x"},"a":{"n":1}})");
    EXPECT_EQ(flat(both[1].input), R"({"run":{"url":"x"},"a":{"n":1}})");
    complete(both[1], R"("of c")");
    EXPECT_TRUE(poll().empty()) << "d waits for b";
    EXPECT_EQ(step(run, "d").remaining_deps, 1);
    complete(both[0], R"("of b")");
    const Task d = poll_step("d");
    EXPECT_EQ(flat(d.input), R"({"run":{"url":"x"},"b":"of b","c":"of c"})") << "by step index";
    complete(d, "[1,2]");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"d":[1,2]})");
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(FlowOrderTest, counters_and_times_follow_the_run) {
    diamond().create(store());
    const RunId run = start_flow();
    advance(1s);
    const HeldTask a = claim_task("flow", WorkerId(12));
    RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::running);
    EXPECT_EQ(seen.started_at, start + 1s);
    EXPECT_EQ(seen.worker, WorkerId(12));
    EXPECT_EQ(seen.remaining_steps, 4);
    TaskInfo its = task(run, "a");
    EXPECT_EQ(its.status, TaskStatus::running);
    EXPECT_EQ(its.attempts, 1);
    EXPECT_EQ(its.delivery, 1);
    EXPECT_EQ(its.worker, WorkerId(12));
    EXPECT_EQ(its.started_at, start + 1s);
    EXPECT_EQ(its.message, a.message.id);
    EXPECT_FALSE(its.completed_at);
    advance(1s);
    EXPECT_EQ(commit(complete_write(a, "5")), WriteStatus::done);
    its = task(run, "a");
    EXPECT_EQ(its.status, TaskStatus::success);
    EXPECT_EQ(flat(its.output), "5");
    EXPECT_EQ(its.queued_at, start);
    EXPECT_EQ(its.started_at, start + 1s);
    EXPECT_EQ(its.completed_at, start + 2s);
    const StepInfo done = step(run, "a");
    EXPECT_EQ(done.status, StepStatus::success);
    EXPECT_EQ(flat(done.output), "5");
    EXPECT_EQ(done.remaining_tasks, 0);
    EXPECT_EQ(done.initial_tasks, 1);
    EXPECT_EQ(done.started_at, start);
    EXPECT_EQ(done.completed_at, start + 2s);
    const StepInfo next = step(run, "b");
    EXPECT_EQ(next.status, StepStatus::running);
    EXPECT_EQ(next.remaining_deps, 0);
    EXPECT_EQ(next.started_at, start + 2s);
    EXPECT_EQ(next.initial_tasks, 1);
    EXPECT_EQ(task(run, "b").queued_at, start + 2s);
    EXPECT_EQ(step(run, "d").remaining_deps, 2);
    EXPECT_EQ(info(run).remaining_steps, 3);
    EXPECT_EQ(info(run).updated_at, start + 2s);
    drain();
    seen = info(run);
    EXPECT_EQ(seen.remaining_steps, 0);
    EXPECT_EQ(seen.completed_at, start + 2s);
    EXPECT_EQ(seen.started_at, start + 1s) << "the first start";
    EXPECT_FALSE(seen.visible_at);
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, b.0 SUCCESS, c.0 SUCCESS, d.0 SUCCESS")
        << "all of it stays readable";
}

TEST_P(FlowOrderTest, the_output_has_every_leaf_in_the_order_of_the_steps) {
    flow("flow")
        .step("zeta")
        .step("inner")
        .step("beta", {"inner"})
        .step("alpha", {"inner"})
        .create(store());
    const RunId run = start_flow();
    drain([](const Task& task) { return "\"" + task.task.step + "\""; });
    EXPECT_EQ(output_of(run), R"({"zeta":"zeta","beta":"beta","alpha":"alpha"})");
}

TEST_P(FlowOrderTest, values_travel_as_they_were_written) {
    flow("flow").step("a").step("b", {"a"}).create(store());
    const std::string precise = R"({"price":1.50,"big":12345678901234567890123,"t":"\u00e4\n"})";
    const RunId run = start_flow(precise);
    const Task a = poll_step("a");
    EXPECT_TRUE(contains(a.input.text, precise));
    complete(a, precise);
    const Task b = poll_step("b");
    EXPECT_TRUE(contains(b.input.text, precise));
    EXPECT_EQ(task(run, "a").output->text, precise);
    EXPECT_EQ(step(run, "a").output->text, precise);
    complete(b, precise);
    EXPECT_TRUE(contains(info(run).output->text, precise));
}

TEST_P(FlowOrderTest, any_json_is_an_output) {
    flow("flow").step("a").step("b", {"a"}).create(store());
    for (const std::string value : {"null", "true", "\"\"", "[]", "{}", "0", "-1.5e3"}) {
        const RunId run = start_flow(value);
        const Task a = poll_step("a");
        EXPECT_EQ(flat(a.input), R"({"run":)" + flat(Json{value}) + "}");
        complete(a, value);
        const Task b = poll_step("b");
        EXPECT_EQ(
            flat(b.input), R"({"run":)" + flat(Json{value}) + R"(,"a":)" + flat(Json{value}) + "}"
        );
        complete(b, value);
        EXPECT_EQ(output_of(run), R"({"b":)" + flat(Json{value}) + "}");
    }
}

TEST_P(FlowOrderTest, bad_output_is_refused_and_changes_nothing) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const Task a = poll_step("a");
    EXPECT_THROW(complete(a, "{"), Error);
    EXPECT_THROW(complete(a, "\"" + std::string(1024 * 1024, 'x') + "\""), Error);
    EXPECT_EQ(task(run, "a").status, TaskStatus::running);
    EXPECT_EQ(complete(a, "1"), TaskOutcome::done);
}

TEST_P(FlowOrderTest, dependents_can_be_polled_as_soon_as_complete_returns) {
    flow("flow").step("a").step("b", {"a"}).step("c", {"b"}).create(store());
    const RunId run = start_flow();
    for (const std::string step : {"a", "b", "c"}) work_step(step);
    EXPECT_EQ(status(run), RunStatus::success) << "on a clock that never moved";
    EXPECT_EQ(info(run).completed_at, start);
}

TEST_P(FlowOrderTest, tasks_come_in_order_of_arrival_over_all_runs) {
    flow("flow").step("a").step("b", {"a"}).create(store());
    const RunId first = start_flow();
    const RunId second = start_flow();
    complete(poll_one());
    const auto tasks = poll();
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].task, (TaskRef{second, "a", 0}));
    EXPECT_EQ(tasks[1].task, (TaskRef{first, "b", 0}));
}

TEST_P(FlowOrderTest, a_poll_takes_at_most_what_it_asked_for) {
    flow("flow").step("a").create(store());
    for (int i = 0; i < 7; ++i) (void)start_flow();
    EXPECT_EQ(poll(3).size(), 3U);
    EXPECT_EQ(poll(3).size(), 3U);
    EXPECT_EQ(poll(3).size(), 1U);
    EXPECT_EQ(poll(3).size(), 0U);
    for (const int qty : {0, -1})
        EXPECT_EQ(error_of([&] { (void)poll(qty); }).code(), ErrorCode::invalid_argument);
}

TEST_P(FlowOrderTest, a_paused_flow_starts_no_tasks) {
    diamond().create(store());
    const RunId run = start_flow();
    store().queue("flow").pause();
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(status(run), RunStatus::queued);
    store().queue("flow").resume();
    EXPECT_EQ(drain(), 4);
}

TEST_P(FlowOrderTest, the_first_report_wins_without_a_delivery) {
    diamond().create(store());
    const RunId run = start_flow();
    const TaskRef a = poll_step("a").task;
    EXPECT_EQ(store().complete_task(a, Json{"1"}), TaskOutcome::done);
    EXPECT_EQ(store().complete_task(a, Json{"2"}), TaskOutcome::finished);
    EXPECT_EQ(store().fail_task(a, "late"), TaskOutcome::finished);
    EXPECT_EQ(flat(step(run, "a").output), "1");
    EXPECT_EQ(names(poll()), "b, c") << "each started once";
    EXPECT_EQ(info(run).remaining_steps, 3);
}

TEST_P(FlowOrderTest, a_repeated_report_changes_nothing_and_returns_the_reason) {
    diamond().create(store());
    const RunId run = start_flow();
    const Task a = poll_step("a");
    EXPECT_EQ(complete(a, "1"), TaskOutcome::done);
    EXPECT_EQ(complete(a, "2"), TaskOutcome::finished);
    EXPECT_EQ(fail(a), TaskOutcome::finished);
    drain();
    EXPECT_EQ(complete(a, "3"), TaskOutcome::finished) << "the run has ended, too";
    EXPECT_EQ(flat(step(run, "a").output), "1");
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowOrderTest, a_report_about_an_unknown_task_returns_unknown_task) {
    diamond().create(store());
    make_workflow("job");
    const RunId run = start_flow();
    const RunId other = trigger("job");
    (void)poll_step("a");
    for (const TaskRef& unknown : std::vector<TaskRef>{
             {RunId(4711), "a", 0},
             {run, "nowhere", 0},
             {run, "a", 1},
             {run, "a", -1},
             {run, "b", 0},
             {other, "a", 0}}) {
        for (const int delivery : {0, 1}) {
            EXPECT_EQ(
                store().complete_task(unknown, Json{"1"}, delivery), TaskOutcome::unknown_task
            );
            EXPECT_EQ(store().fail_task(unknown, "no", delivery), TaskOutcome::unknown_task);
        }
    }
    EXPECT_EQ(states(run), "a RUNNING, b PENDING, c PENDING, d PENDING");
    EXPECT_EQ(
        error_of([&] { (void)store().run(RunId(4711)).tasks(); }).code(), ErrorCode::run_not_found
    );
    EXPECT_TRUE(store().run(other).tasks().empty());
}

TEST_P(FlowOrderTest, a_task_that_waits_cannot_be_reported) {
    diamond().create(store());
    const RunId run = start_flow();
    EXPECT_EQ(store().complete_task({run, "a", 0}, Json{"1"}), TaskOutcome::not_running);
    EXPECT_EQ(store().fail_task({run, "a", 0}, "no"), TaskOutcome::not_running);
    const Task a = poll_step("a");
    EXPECT_EQ(fail(a), TaskOutcome::done);
    EXPECT_EQ(store().complete_task(a.task, Json{"1"}), TaskOutcome::not_running);
    EXPECT_EQ(task(run, "a").attempts, 1);
}

TEST_P(FlowOrderTest, a_chain_of_200_steps_goes_from_end_to_end) {
    Flow chain = flow("flow");
    const auto slug = [](int i) { return "step_" + std::to_string(i); };
    for (int i = 0; i < 200; ++i) {
        if (i == 0) {
            chain.step(slug(0));
        } else {
            chain.step(slug(i), {slug(i - 1)});
        }
    }
    chain.create(store());
    const RunId run = start_flow("0");
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(info(run).remaining_steps, 200 - i);
        work_step(slug(i), std::to_string(i));
    }
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"step_199":199})");
}

TEST_P(FlowOrderTest, many_diamonds_side_by_side_do_not_mix) {
    diamond().create(store());
    std::vector<NewRun> batch;
    for (int i = 0; i < 40; ++i) batch.push_back({"flow", Json{std::to_string(i)}, {}});
    const auto runs = store().trigger(batch);
    const int done = drain([](const Task& task) {
        return R"({")" + task.task.step + R"(":)" + flat(task.input) + "}";
    });
    EXPECT_EQ(done, 160);
    for (int i = 0; i < 40; ++i) {
        const std::string n = std::to_string(i);
        const std::string of_a = R"({"a":{"run":)" + n + "}}";
        const std::string of_b = R"({"b":{"run":)" + n + R"(,"a":)" + of_a + "}}";
        const std::string of_c = R"({"c":{"run":)" + n + R"(,"a":)" + of_a + "}}";
        EXPECT_EQ(
            output_of(runs[static_cast<std::size_t>(i)].id()),
            R"({"d":{"d":{"run":)" + n + R"(,"b":)" + of_b + R"(,"c":)" + of_c + "}}}"
        );
    }
}

}  // namespace
}  // namespace pawl::test
