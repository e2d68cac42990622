// Tasks at the seam: the result of a claim, batches of reports and their outcomes.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowCommitTest : public FlowTest {
protected:
    // The tasks b and c of one run.
    std::vector<HeldTask> middle_of(RunId& run) const {
        diamond().create(store());
        run = start_flow("0");
        work_step("a", "1");
        auto held = claim_tasks();
        EXPECT_EQ(held.size(), 2U);
        return held;
    }
};
PAWL_FOR_EACH_BACKEND(FlowCommitTest);

TEST_P(FlowCommitTest, a_claim_returns_the_task_with_its_input) {
    flow("flow")
        .max_attempts(4)
        .timeout(9s)
        .step("a")
        .step("b", {"a"}, {.max_attempts = 2, .task_timeout = 0s})
        .create(store());
    const RunId run = start_flow(R"({"n":1})");
    const seam::Claim got = claim_work(10, "flow", WorkerId(7));
    ASSERT_EQ(got.messages.size(), 1U);
    ASSERT_EQ(got.tasks.size(), 1U);
    EXPECT_TRUE(got.runs.empty());
    EXPECT_EQ(got.queues.at(0), store().queue("flow").info().id);
    EXPECT_EQ(got.now, start);
    EXPECT_EQ(flat(got.messages[0].payload), R"({"run":{"n":1}})");
    EXPECT_EQ(got.messages[0].delivery, 1);
    EXPECT_EQ(got.messages[0].visible_at, start + 30s) << "the worker's lease";
    EXPECT_EQ(got.tasks[0].task, (TaskRef{run, "a", 0}));
    EXPECT_EQ(got.tasks[0].attempts, 1);
    EXPECT_EQ(got.tasks[0].max_attempts, 4);
    EXPECT_EQ(got.tasks[0].timeout, 9s);
    const HeldTask a{got.messages[0], got.tasks[0]};
    EXPECT_EQ(commit(complete_write(a, "[1]")), WriteStatus::done);
    const HeldTask b = claim_task("flow", WorkerId(8));
    EXPECT_EQ(flat(b.message.payload), R"({"run":{"n":1},"a":[1]})");
    EXPECT_EQ(b.claimed.max_attempts, 2);
    EXPECT_FALSE(b.claimed.timeout);
    EXPECT_EQ(task(run, "b").worker, WorkerId(8));
}

TEST_P(FlowCommitTest, one_claim_takes_tasks_of_several_flows) {
    flow("one").step("a").create(store());
    flow("two").map("m").create(store());
    (void)start_flow("1", {}, "one");
    (void)start_flow("[2,3]", {}, "two");
    seam::ClaimRequest request;
    request.queues = {store().queue("one").info().id, store().queue("two").info().id};
    request.max_messages = 10;
    request.work = seam::Work::tasks;
    const seam::Claim got = detail::Access::backend(store())->claim(request);
    ASSERT_EQ(got.tasks.size(), 3U);
    std::vector<Write> writes;
    for (std::size_t i = 0; i < 3; ++i) {
        const HeldTask held{got.messages[i], got.tasks[i]};
        const bool single = held.ref().step == "a";
        EXPECT_EQ(got.queues[i], store().queue(single ? "one" : "two").info().id);
        EXPECT_EQ(
            flat(held.message.payload),
            single ? R"({"run":1})" : std::to_string(held.ref().task_index + 2)
        );
        writes.push_back(complete_write(held, "9"));
    }
    EXPECT_EQ(commit_all(writes), std::vector(3, WriteStatus::done));
    EXPECT_EQ(store().count_runs().success, 2);
}

TEST_P(FlowCommitTest, a_batch_completes_tasks_of_many_runs) {
    diamond().create(store());
    std::vector<NewRun> batch(30, NewRun{"flow", Json{"1"}, {}});
    const auto runs = store().trigger(batch);
    int tasks = 0;
    while (true) {
        const auto held = claim_tasks(1000);
        if (held.empty()) break;
        std::vector<Write> writes;
        for (const HeldTask& one : held) writes.push_back(complete_write(one, "2"));
        EXPECT_EQ(commit_all(writes), std::vector(writes.size(), WriteStatus::done));
        tasks += static_cast<int>(held.size());
    }
    EXPECT_EQ(tasks, 120);
    for (const Run& run : runs) {
        EXPECT_EQ(run.status(), RunStatus::success);
        EXPECT_EQ(output_of(run.id()), R"({"d":2})");
    }
}

TEST_P(FlowCommitTest, both_dependencies_of_a_join_may_end_in_one_batch) {
    RunId run;
    const auto held = middle_of(run);
    EXPECT_EQ(
        commit_all({complete_write(held[1], "3"), complete_write(held[0], "2")}),
        std::vector(2, WriteStatus::done)
    );
    const HeldTask d = claim_task();
    EXPECT_EQ(flat(d.message.payload), R"({"run":0,"b":2,"c":3})");
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, b.0 SUCCESS, c.0 SUCCESS, d.0 RUNNING");
    EXPECT_EQ(info(run).remaining_steps, 1);
}

TEST_P(FlowCommitTest, completions_and_failures_in_one_batch) {
    RunId run;
    const auto held = middle_of(run);
    EXPECT_EQ(
        commit_all({complete_write(held[0], "2"), fail_write(held[1], "not now")}),
        std::vector(2, WriteStatus::done)
    );
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, b.0 SUCCESS, c.0 QUEUED");
    EXPECT_EQ(task(run, "c").error, "not now");
    EXPECT_EQ(states(run), "a SUCCESS, b SUCCESS, c RUNNING, d PENDING");
}

TEST_P(FlowCommitTest, a_batch_may_mix_reports_and_other_writes) {
    diamond().create(store());
    make_workflow("job");
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    (void)start_flow();
    (void)trigger("job");
    const HeldTask task = claim_task();
    const Held held = claim_one();
    const Message plain = take_one(queue);
    EXPECT_EQ(
        commit_all(
            {success(held.lease(), "1"),
             complete_write(task, "2"),
             {plain.lease(), seam::Archive{}}}
        ),
        std::vector(3, WriteStatus::done)
    );
    EXPECT_EQ(status(held.id()), RunStatus::success);
    EXPECT_EQ(names(poll()), "b, c");
    EXPECT_EQ(queue.stats().leased, 0);
}

TEST_P(FlowCommitTest, the_same_report_twice_in_a_batch_counts_once) {
    RunId run;
    const auto held = middle_of(run);
    const auto outcomes = commit_all({complete_write(held[0], "2"), complete_write(held[0], "3")});
    EXPECT_EQ(outcomes, (std::vector{WriteStatus::done, WriteStatus::lease_lost}));
    EXPECT_EQ(flat(step(run, "b").output), "2");
    EXPECT_EQ(step(run, "d").remaining_deps, 1);
    EXPECT_EQ(info(run).remaining_steps, 2);
}

TEST_P(FlowCommitTest, a_report_of_an_older_delivery_is_lost) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask first = claim_task();
    advance(62s);
    const HeldTask second = claim_task();
    EXPECT_EQ(second.claimed.attempts, 2);
    EXPECT_EQ(commit(complete_write(first, "1")), WriteStatus::lease_lost);
    EXPECT_EQ(commit(fail_write(first)), WriteStatus::lease_lost);
    EXPECT_EQ(commit(complete_write(first, "1"), Attempt::repeated), WriteStatus::lease_lost);
    EXPECT_EQ(task(run, "a").status, TaskStatus::running);
    EXPECT_EQ(commit(complete_write(second, "2")), WriteStatus::done);
    EXPECT_EQ(commit(complete_write(second, "3")), WriteStatus::lease_lost) << "it has ended";
    EXPECT_EQ(flat(step(run, "a").output), "2");
}

TEST_P(FlowCommitTest, a_repeated_completion_is_done) {
    RunId run;
    const auto held = middle_of(run);
    const Write write = complete_write(held[0], "2");
    EXPECT_EQ(commit(write), WriteStatus::done);
    EXPECT_EQ(commit(write, Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(step(run, "d").remaining_deps, 1) << "nothing is counted twice";
    EXPECT_EQ(info(run).remaining_steps, 2);
    EXPECT_EQ(commit(fail_write(held[0]), Attempt::repeated), WriteStatus::lease_lost)
        << "it would have written something else";
    EXPECT_EQ(commit(complete_write(held[1], "3"), Attempt::repeated), WriteStatus::done)
        << "a repeated one may be the first that arrives";
    EXPECT_EQ(step(run, "d").status, StepStatus::running);
}

TEST_P(FlowCommitTest, a_repeated_failure_is_done) {
    flow("flow").max_attempts(2).step("a").create(store());
    const RunId run = start_flow();
    const HeldTask first = claim_task();
    EXPECT_EQ(commit(fail_write(first)), WriteStatus::done);
    EXPECT_EQ(commit(fail_write(first), Attempt::repeated), WriteStatus::done) << "it waits";
    EXPECT_EQ(commit(complete_write(first), Attempt::repeated), WriteStatus::lease_lost);
    EXPECT_EQ(event_kinds(run), "task_retry");
    EXPECT_EQ(message(first.message.id)->visible_at, start + 10s);
    advance(10s);
    const HeldTask second = claim_task();
    EXPECT_EQ(commit(fail_write(first), Attempt::repeated), WriteStatus::lease_lost)
        << "it has been started again since";
    EXPECT_EQ(commit(fail_write(second, "the last")), WriteStatus::done);
    EXPECT_EQ(commit(fail_write(second, "the last"), Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(event_kinds(run), "task_retry,step_failed,run_failed");
}

TEST_P(FlowCommitTest, a_repeated_report_of_a_run_that_ended_with_it_is_done) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    EXPECT_EQ(commit(complete_write(held, "1")), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(commit(complete_write(held, "1"), Attempt::repeated), WriteStatus::done);
}

TEST_P(FlowCommitTest, a_report_for_a_cancelled_run_gets_cancelled) {
    RunId run;
    const auto held = middle_of(run);
    store().cancel(run, "no");
    EXPECT_EQ(
        commit_all({complete_write(held[0]), fail_write(held[1])}),
        std::vector(2, WriteStatus::cancelled)
    );
    EXPECT_EQ(commit(complete_write(held[0]), Attempt::repeated), WriteStatus::cancelled);
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, b.0 CANCELLED, c.0 CANCELLED");
}

TEST_P(FlowCommitTest, a_bad_report_does_not_harm_the_others) {
    diamond().create(store());
    const RunId bad = start_flow();
    const RunId good = start_flow();
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 2U);
    kit().refuse_steps_of(bad);
    const std::vector<Write> writes{complete_write(held[0], "1"), complete_write(held[1], "2")};
    const auto outcomes = detail::Access::backend(store())->commit(writes, Attempt::first);
    EXPECT_EQ(outcomes[0].status, WriteStatus::rejected);
    EXPECT_TRUE(contains(outcomes[0].error, "not this one"));
    EXPECT_EQ(outcomes[1].status, WriteStatus::done);
    EXPECT_EQ(task(bad, "a").status, TaskStatus::running);
    EXPECT_EQ(task(good, "a").status, TaskStatus::success);
}

TEST_P(FlowCommitTest, a_task_handed_back_unstarted_counts_no_attempt) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask first = claim_task();
    EXPECT_EQ(commit(hand_back_write(first)), WriteStatus::done);
    EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
    EXPECT_EQ(task(run, "a").attempts, 0);
    const HeldTask again = claim_task();
    EXPECT_EQ(again.claimed.attempts, 1);
    EXPECT_EQ(again.message.strikes, 1);
    EXPECT_EQ(again.message.id, first.message.id);
    EXPECT_EQ(commit(complete_write(again)), WriteStatus::done);
}

TEST_P(FlowCommitTest, a_task_that_was_handed_back_cannot_be_reported) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask first = claim_task();
    commit(release_write(first));
    EXPECT_EQ(commit(complete_write(first)), WriteStatus::lease_lost);
    EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
    EXPECT_EQ(step(run, "a").status, StepStatus::running);
}

TEST_P(FlowCommitTest, a_task_released_waits_for_its_time) {
    flow("flow").max_attempts(1).step("a").create(store());
    const RunId run = start_flow();
    for (int i = 0; i < 5; ++i) {
        const HeldTask held = claim_task();
        EXPECT_EQ(held.claimed.attempts, 1) << "a release is no attempt";
        EXPECT_EQ(commit(release_write(held, 10s)), WriteStatus::done);
        EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
        EXPECT_EQ(task(run, "a").attempts, 0);
        EXPECT_EQ(message(held.message.id)->strikes, 0);
        EXPECT_TRUE(poll().empty());
        advance(10s);
    }
    work_step("a");
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowCommitTest, many_tasks_are_released_in_one_batch) {
    flow("flow").map("m").create(store());
    const RunId run = start_flow("[1,2,3,4,5,6]");
    std::vector<Write> writes;
    for (const HeldTask& held : claim_tasks()) {
        const bool odd = held.ref().task_index % 2 == 1;
        writes.push_back(odd ? hand_back_write(held) : release_write(held));
    }
    EXPECT_EQ(commit_all(writes), std::vector(6, WriteStatus::done));
    for (const TaskInfo& task : store().run(run).tasks()) {
        EXPECT_EQ(task.status, TaskStatus::queued);
        EXPECT_EQ(task.attempts, 0);
    }
    EXPECT_EQ(drain([](const Task& task) { return task.input.text; }), 6);
    EXPECT_EQ(output_of(run), R"({"m":[1,2,3,4,5,6]})");
}

TEST_P(FlowCommitTest, a_batch_that_fails_a_run_cancels_the_rest_of_it) {
    flow("flow").max_attempts(1).step("a").step("b").step("c").create(store());
    const RunId run = start_flow();
    const auto held = claim_tasks();
    const auto outcomes = commit_all({fail_write(held[0]), fail_write(held[1])});
    EXPECT_EQ(outcomes[0], WriteStatus::done);
    EXPECT_TRUE(outcomes[1] == WriteStatus::done || outcomes[1] == WriteStatus::cancelled);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").status, TaskStatus::error);
    EXPECT_EQ(task(run, "c").status, TaskStatus::cancelled);
    EXPECT_EQ(count(Rows::messages), 0);
    EXPECT_EQ(event_kinds(run), "step_failed,run_failed");
}

TEST_P(FlowCommitTest, a_map_whose_end_fails_the_run_leaves_nothing_half_done_in_its_batch) {
    flow("flow")
        .max_attempts(1)
        .map("each")
        .step(
            "picky",
            {"each"},
            {.required_input_pattern = Json{R"({"each":[9]})"}, .when_unmet = WhenUnmet::fail}
        )
        .step("side")
        .step("after", {"side"})
        .create(store());
    for (const bool side_fails : {false, true}) {
        const RunId run = start_flow("[1]");
        const auto held = claim_tasks();
        ASSERT_EQ(held.size(), 2U);
        commit_all(
            {complete_write(held[0], "1"),
             side_fails ? fail_write(held[1]) : complete_write(held[1], "2")}
        );
        EXPECT_EQ(status(run), RunStatus::error);
        EXPECT_EQ(event_kinds(run), "step_failed,run_failed") << "once";
        int left = 0;
        int blamed = 0;
        for (const StepInfo& seen : store().run(run).steps()) {
            left += seen.status == StepStatus::success ? 0 : 1;
            blamed += seen.status == StepStatus::error ? 1 : 0;
        }
        EXPECT_EQ(info(run).remaining_steps, left) << states(run);
        EXPECT_EQ(blamed, 1) << states(run);
        EXPECT_EQ(step(run, "after").status, StepStatus::cancelled);
        EXPECT_EQ(count(Rows::messages), 0);
    }
}

}  // namespace
}  // namespace pawl::test
