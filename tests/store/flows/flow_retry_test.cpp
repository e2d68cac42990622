// Tasks that fail: retries, and the effects on step and run when attempts are used up.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowRetryTest : public FlowTest {
protected:
    // side; broken -> after, leaf; join of both.
    static Flow with_broken(const FlowStepOptions& options) {
        return flow("flow")
            .max_attempts(1)
            .step("side")
            .step("broken", {}, options)
            .step("after", {"broken"})
            .step("last", {"after"})
            .step("join", {"side", "broken"});
    }
    Task poll_of(const std::string& step) const {
        for (const Task& task : poll()) {
            if (task.task.step == step) return task;
        }
        throw std::runtime_error("no task of " + step);
    }
};
PAWL_FOR_EACH_BACKEND(FlowRetryTest);

TEST_P(FlowRetryTest, a_failed_attempt_is_retried_after_a_delay_that_doubles) {
    flow("flow").max_attempts(5).step("a").create(store());
    const RunId run = start_flow();
    Timestamp now = start;
    MessageId same;
    for (const auto delay : {10s, 20s, 40s, 80s}) {
        const Task got = poll_step("a");
        EXPECT_TRUE(!same || got.message == same) << "one message over all attempts";
        same = got.message;
        EXPECT_EQ(fail(got, "not now"), TaskOutcome::done);
        const TaskInfo waiting = task(run, "a");
        EXPECT_EQ(waiting.status, TaskStatus::queued);
        EXPECT_EQ(waiting.error, "not now");
        EXPECT_EQ(waiting.attempts, got.attempts);
        EXPECT_EQ(message(same)->state, MessageState::waiting);
        EXPECT_EQ(message(same)->visible_at, now + delay);
        EXPECT_EQ(message(same)->strikes, 0);
        EXPECT_EQ(status(run), RunStatus::running);
        advance(delay - 1ms);
        EXPECT_TRUE(poll().empty());
        advance(1ms);
        now += delay;
    }
    const Task last = poll_step("a");
    EXPECT_EQ(last.attempts, 5);
    EXPECT_EQ(last.delivery, 5);
    complete(last, "1");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(task(run, "a").attempts, 5);
}

TEST_P(FlowRetryTest, a_delay_is_an_hour_at_most) {
    flow("flow").max_attempts(100).base_delay(10min).step("a").create(store());
    (void)start_flow();
    for (const Duration delay : {Duration(20min), Duration(40min), Duration(1h), Duration(1h)}) {
        const Task got = poll_step("a");
        const Timestamp now = store().now();
        fail(got);
        EXPECT_EQ(message(got.message)->visible_at, now + delay);
        advance(delay);
    }
}

TEST_P(FlowRetryTest, the_delay_of_the_step_goes_before_that_of_the_flow) {
    flow("flow")
        .step("a", {}, {.backoff_base = 1s})
        .step("b", {}, {.backoff_base = 0s})
        .create(store());
    const RunId run = start_flow();
    for (const Task& got : poll()) fail(got);
    EXPECT_EQ(message(task(run, "a").message)->visible_at, start + 2s);
    EXPECT_EQ(names(poll()), "b") << "immediately";
}

TEST_P(FlowRetryTest, each_retry_is_an_event_with_its_error) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    fail(poll_step("a"), "first");
    EXPECT_EQ(event_kinds(run), "task_retry");
    EXPECT_EQ(
        event_data(run, "task_retry"), R"({"attempt":1,"error":"first","step":"a","task_index":0})"
    );
    advance(1h);
    fail(poll_step("a"), "second");
    EXPECT_EQ(event_kinds(run), "task_retry,task_retry") << "errors of earlier attempts stay";
    advance(1h);
    fail(poll_step("a"), "third");
    EXPECT_EQ(event_kinds(run), "task_retry,task_retry,step_failed,run_failed");
    EXPECT_TRUE(contains(store().run(run).events().at(1).data.text, "second"));
}

TEST_P(FlowRetryTest, the_run_fails_when_attempts_are_used_up) {
    diamond().max_attempts(2).create(store());
    const RunId run = start_flow();
    work_step("a", "1");
    const auto both = poll();
    ASSERT_EQ(names(both), "b, c");
    fail(both[0], "no route");
    advance(10s);
    const Task again = poll_step("b");
    EXPECT_EQ(again.attempts, 2);
    EXPECT_EQ(fail(again, "no route again"), TaskOutcome::done);
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::error);
    EXPECT_EQ(seen.completed_at, start + 10s);
    EXPECT_EQ(seen.remaining_steps, 3);
    EXPECT_FALSE(seen.output);
    const model::RunError error = error_in(seen.error);
    EXPECT_EQ(error.type, "task_failed");
    EXPECT_EQ(error.message, "no route again");
    EXPECT_EQ(error.step, "b");
    EXPECT_EQ(error.attempt, 2);
    EXPECT_TRUE(contains(seen.last_error, "no route again"));
    EXPECT_EQ(states(run), "a SUCCESS, b ERROR, c CANCELLED, d CANCELLED");
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, b.0 ERROR, c.0 CANCELLED");
    EXPECT_EQ(flat(step(run, "b").error), flat(seen.error));
    EXPECT_EQ(step(run, "b").completed_at, start + 10s);
    EXPECT_EQ(step(run, "d").completed_at, start + 10s);
    EXPECT_EQ(task(run, "b").error, "no route again");
    EXPECT_EQ(task(run, "b").completed_at, start + 10s);
    EXPECT_EQ(task(run, "c").completed_at, start + 10s);
    EXPECT_EQ(flat(step(run, "a").output), "1") << "what was done stays";
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(FlowRetryTest, leased_siblings_are_notified_when_the_run_fails) {
    flow("flow").max_attempts(1).step("a").step("b").step("c").create(store());
    const RunId run = start_flow();
    const auto held = claim_tasks(2);
    ASSERT_EQ(held.size(), 2U);
    EXPECT_EQ(commit(fail_write(held[0])), WriteStatus::done);
    EXPECT_EQ(task_states(run), "a.0 ERROR, b.0 CANCELLED, c.0 CANCELLED");
    EXPECT_TRUE(poll().empty()) << "queued tasks are removed immediately";
    const Write extension = extend_write(held[1], 30s);
    const auto beat = detail::Access::backend(store())->heartbeat({}, std::span(&extension, 1));
    EXPECT_EQ(beat.outcomes.at(0).status, WriteStatus::cancelled);
    EXPECT_EQ(commit(complete_write(held[1])), WriteStatus::cancelled);
    EXPECT_EQ(store().complete_task({run, "b", 0}, Json{"1"}, 1), TaskOutcome::cancelled);
    EXPECT_EQ(store().complete_task({run, "b", 0}, Json{"1"}), TaskOutcome::cancelled);
    EXPECT_EQ(store().fail_task({run, "c", 0}, "x"), TaskOutcome::cancelled);
    EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(FlowRetryTest, a_permanent_failure_is_not_tried_again) {
    flow("flow").max_attempts(5).step("a").create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    Write write = fail_write(held, "bad request");
    write.as<seam::FailTask>().permanent = true;
    EXPECT_EQ(commit(write), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").attempts, 1);
    EXPECT_EQ(error_in(info(run).error).message, "bad request");
    EXPECT_EQ(error_in(info(run).error).attempt, 1);
}

TEST_P(FlowRetryTest, a_worker_may_name_the_delay) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    Write write = fail_write(held);
    write.as<seam::FailTask>().retry_delay = 7s;
    EXPECT_EQ(commit(write), WriteStatus::done);
    EXPECT_EQ(message(held.message.id)->visible_at, start + 7s);
    EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
}

TEST_P(FlowRetryTest, skip_lets_dependents_start_without_it) {
    with_broken({.when_exhausted = WhenExhausted::skip}).create(store());
    const RunId run = start_flow("0");
    const auto roots = poll();
    ASSERT_EQ(names(roots), "side, broken");
    fail(roots[1], "no luck");
    EXPECT_EQ(
        states(run), "side RUNNING, broken SKIPPED, after RUNNING, last PENDING, join PENDING"
    );
    const StepInfo skipped = step(run, "broken");
    EXPECT_EQ(skipped.skip_reason, "handler_failed");
    EXPECT_EQ(skipped.completed_at, start);
    EXPECT_FALSE(skipped.output);
    EXPECT_EQ(error_in(skipped.error).message, "no luck");
    EXPECT_EQ(task(run, "broken").status, TaskStatus::error);
    EXPECT_EQ(info(run).remaining_steps, 4);
    EXPECT_TRUE(has_event(run, "step_skipped"));
    const Task after = poll_step("after");
    EXPECT_EQ(flat(after.input), R"({"run":0})") << "without its key";
    complete(after, "1");
    work_step("last", "2");
    complete(roots[0], "3");
    const Task join = poll_step("join");
    EXPECT_EQ(flat(join.input), R"({"run":0,"side":3})");
    complete(join, "4");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"last":2,"join":4})");
    EXPECT_FALSE(info(run).error);
}

TEST_P(FlowRetryTest, skip_cascade_skips_all_that_depends_on_it) {
    with_broken({.when_exhausted = WhenExhausted::skip_cascade}).create(store());
    const RunId run = start_flow();
    const auto roots = poll();
    fail(roots[1]);
    EXPECT_EQ(
        states(run), "side RUNNING, broken SKIPPED, after SKIPPED, last SKIPPED, join SKIPPED"
    );
    EXPECT_EQ(step(run, "broken").skip_reason, "handler_failed");
    for (const std::string slug : {"after", "last", "join"}) {
        EXPECT_EQ(step(run, slug).skip_reason, "dependency_skipped");
        EXPECT_EQ(step(run, slug).completed_at, start);
        EXPECT_FALSE(step(run, slug).started_at);
        EXPECT_FALSE(step(run, slug).initial_tasks);
    }
    EXPECT_EQ(info(run).remaining_steps, 1);
    EXPECT_EQ(status(run), RunStatus::running);
    complete(roots[0], "1");
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), "{}") << "skipped leaves are omitted, and side is not a leaf";
}

TEST_P(FlowRetryTest, a_run_whose_last_open_step_is_skipped_succeeds) {
    flow("flow")
        .max_attempts(1)
        .step("a")
        .step("b", {}, {.when_exhausted = WhenExhausted::skip})
        .create(store());
    const RunId run = start_flow();
    const auto roots = poll();
    complete(roots[0], "1");
    fail(roots[1]);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(output_of(run), R"({"a":1})");
    EXPECT_EQ(info(run).remaining_steps, 0);
    EXPECT_EQ(info(run).completed_at, start);
}

TEST_P(FlowRetryTest, a_cascade_through_many_steps_skips_each_once) {
    // Layers in which each step depends on all steps of the layer before: the number of paths is
    // 3^40.
    Flow layers = flow("flow").max_attempts(1);
    layers.step("root", {}, {.when_exhausted = WhenExhausted::skip_cascade});
    std::vector<std::string> before{"root"};
    for (int layer = 0; layer < 40; ++layer) {
        std::vector<std::string> now;
        for (int i = 0; i < 3; ++i) {
            now.push_back("s" + std::to_string(layer) + "_" + std::to_string(i));
            layers.step(now.back(), before);
        }
        before = now;
    }
    layers.create(store());
    const RunId run = start_flow();
    fail(poll_step("root"));
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(info(run).remaining_steps, 0);
    EXPECT_EQ(
        std::ranges::count(store().run(run).steps(), "dependency_skipped", &StepInfo::skip_reason),
        120
    );
}

TEST_P(FlowRetryTest, a_skipped_map_keeps_what_its_other_tasks_have_done) {
    flow("flow")
        .max_attempts(1)
        .map("each", "", {.when_exhausted = WhenExhausted::skip})
        .step("after", {"each"})
        .create(store());
    const RunId run = start_flow("[1,2,3,4]");
    const auto tasks = poll(3);
    ASSERT_EQ(tasks.size(), 3U);
    complete(tasks[0], R"("kept")");
    fail(tasks[1], "no luck");
    EXPECT_EQ(states(run), "each SKIPPED, after RUNNING");
    EXPECT_EQ(
        task_states(run),
        "each.0 SUCCESS, each.1 ERROR, each.2 SKIPPED, each.3 SKIPPED, after.0 QUEUED"
    );
    EXPECT_EQ(flat(task(run, "each", 0).output), R"("kept")");
    EXPECT_EQ(task(run, "each", 2).completed_at, start);
    EXPECT_EQ(complete(tasks[2], "1"), TaskOutcome::finished);
    EXPECT_EQ(store().fail_task({run, "each", 3}, "x"), TaskOutcome::finished);
    EXPECT_EQ(count(Rows::messages), 1) << "only that of what comes after";
    EXPECT_EQ(flat(poll_step("after").input), R"({"run":[1,2,3,4]})");
}

TEST_P(FlowRetryTest, a_worker_with_a_task_of_a_skipped_step_has_lost_it) {
    flow("flow")
        .max_attempts(1)
        .map("each", "", {.when_exhausted = WhenExhausted::skip})
        .step("after", {"each"})
        .create(store());
    const RunId run = start_flow("[1,2]");
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 2U);
    EXPECT_EQ(commit(fail_write(held[0])), WriteStatus::done);
    EXPECT_EQ(commit(complete_write(held[1])), WriteStatus::lease_lost);
    EXPECT_EQ(task(run, "each", 1).status, TaskStatus::skipped);
    EXPECT_EQ(status(run), RunStatus::running);
}

TEST_P(FlowRetryTest, a_failed_run_triggers_the_dead_letter_workflow) {
    make_workflow("graves");
    flow("flow").max_attempts(1).step("a").create(store());
    make_workflow("flow", {.dead_letter_workflow = "graves"});
    const RunId run = start_flow(R"({"n":1})", {.priority = 3});
    fail(poll_step("a"), "no luck");
    const auto letters = store().runs({.workflow = "graves"});
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].parent, run);
    EXPECT_TRUE(contains(letters[0].input.text, "no luck"));
    EXPECT_TRUE(contains(flat(letters[0].input), R"("workflow":"flow")"));
    EXPECT_TRUE(contains(flat(letters[0].input), R"("input":{"n":1})"));
}

TEST_P(FlowRetryTest, no_events_are_kept_if_audit_is_off) {
    flow("flow")
        .max_attempts(2)
        .step("a")
        .step("b", {}, {.max_attempts = 1, .when_exhausted = WhenExhausted::skip})
        .create(store());
    make_workflow("flow", {.audit = AuditLevel::off});
    const RunId run = start_flow();
    for (const Task& got : poll()) fail(got);
    advance(1h);
    fail(poll_step("a"));
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(event_kinds(run), "");
}

TEST_P(FlowRetryTest, any_error_text_can_be_kept) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const std::string awkward("quote\" back\\slash \xff zero\0 \n", 27);
    EXPECT_EQ(fail(poll_step("a"), awkward), TaskOutcome::done);
    EXPECT_TRUE(contains(task(run, "a").error, "quote\" back\\slash"));
    EXPECT_TRUE(contains(event_data(run, "task_retry"), R"(quote\" back\\slash)"));
    advance(10s);
    const HeldTask held = claim_task();
    EXPECT_EQ(commit(fail_write(held, "quote\" \\ \n\t")), WriteStatus::done);
    EXPECT_EQ(task(run, "a").error, "quote\" \\ \n\t");
}

}  // namespace
}  // namespace pawl::test
