// A flow's run is a run: cancel, delete, retry, fork, lists, counts, metrics, wait.
#include <atomic>
#include <future>
#include <map>
#include <pawl/json.h>
#include <thread>

#include "support/flow_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class FlowRunTest : public FlowTest {
protected:
    // a SUCCESS 1, b ERROR, c CANCELLED, d CANCELLED.
    RunId failed_run() const {
        diamond().max_attempts(1).create(store());
        const RunId run = start_flow(
            R"({"n":1})",
            {.priority = 4, .idempotency_key = "k", .parent = RunId(77), .tags = {"x", "y"}}
        );
        work_step("a", "1");
        fail(poll(1).front());
        EXPECT_EQ(states(run), "a SUCCESS, b ERROR, c CANCELLED, d CANCELLED");
        return run;
    }
};
PAWL_FOR_EACH_BACKEND(FlowRunTest);
using FlowRunWakeupTest = WithoutPolling<FlowRunTest>;
PAWL_FOR_EACH_BACKEND(FlowRunWakeupTest);

TEST_P(FlowRunTest, cancel_removes_everything_immediately) {
    diamond().create(store());
    const RunId run = start_flow();
    work_step("a", "1");
    const Task b = poll_one();
    advance(5s);
    store().cancel(run, "not wanted");
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::cancelled);
    EXPECT_EQ(seen.completed_at, start + 5s);
    EXPECT_EQ(error_in(seen.error).message, "not wanted");
    EXPECT_FALSE(seen.visible_at);
    EXPECT_EQ(states(run), "a SUCCESS, b CANCELLED, c CANCELLED, d CANCELLED");
    EXPECT_EQ(task_states(run), "a.0 SUCCESS, b.0 CANCELLED, c.0 CANCELLED");
    EXPECT_EQ(step(run, "d").completed_at, start + 5s);
    EXPECT_EQ(task(run, "c").completed_at, start + 5s);
    EXPECT_EQ(count(Rows::messages), 0);
    EXPECT_TRUE(poll().empty());
    EXPECT_TRUE(has_event(run, "cancelled"));
    EXPECT_EQ(complete(b), TaskOutcome::cancelled);
    EXPECT_EQ(fail(b), TaskOutcome::cancelled);
    EXPECT_EQ(store().complete_task(b.task, Json{"1"}), TaskOutcome::cancelled);
    EXPECT_EQ(error_of([&] { store().cancel(run, "again"); }).code(), ErrorCode::run_finished);
}

TEST_P(FlowRunTest, cancel_leaves_other_runs_alone) {
    diamond().create(store());
    const RunId first = start_flow();
    const RunId second = start_flow();
    store().cancel(first, "no");
    EXPECT_EQ(drain(), 4);
    EXPECT_EQ(status(second), RunStatus::success);
    EXPECT_EQ(status(first), RunStatus::cancelled);
}

TEST_P(FlowRunTest, a_worker_learns_of_the_cancel_at_its_heartbeat) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    std::atomic<std::int64_t> told = 0;
    const seam::RunWakeups::Observation observation(
        detail::Access::backend(store())->run_wakeups(), [&](RunId id) { told = id.value(); }
    );
    // A notification that is sent before the store listens is missed.
    EXPECT_TRUE(eventually([&] { return kit().hears_notifications(); }));
    open().cancel(run, "no");
    const Write extension = extend_write(held, 30s);
    EXPECT_EQ(
        detail::Access::backend(store())
            ->heartbeat({}, std::span(&extension, 1))
            .outcomes.at(0)
            .status,
        WriteStatus::cancelled
    );
    if (traits().wakeups_name_runs) {
        EXPECT_TRUE(eventually([&] { return told == run.value(); })) << "and before that by name";
    }
}

TEST_P(FlowRunTest, a_deleted_run_is_hidden_and_its_tasks_are_gone) {
    diamond().create(store());
    const RunId live = start_flow("null", {.idempotency_key = "k"});
    const HeldTask held = claim_task();
    store().delete_run(live, "wrong customer");
    EXPECT_EQ(info(live).status, RunStatus::cancelled);
    EXPECT_EQ(info(live).deleted_reason, "wrong customer");
    EXPECT_TRUE(store().runs().empty());
    EXPECT_EQ(store().runs({.include_deleted = true}).size(), 1U);
    EXPECT_EQ(count(Rows::messages), 0);
    EXPECT_EQ(commit(complete_write(held)), WriteStatus::cancelled);
    EXPECT_TRUE(poll().empty());
    EXPECT_TRUE(has_event(live, "deleted"));
    EXPECT_NE(start_flow("null", {.idempotency_key = "k"}), live);
    drain();
    const RunId done = store().runs().front().id;
    store().delete_run(done, "old");
    EXPECT_EQ(info(done).status, RunStatus::success) << "a finished one keeps its end";
}

TEST_P(FlowRunTest, resume_is_refused) {
    diamond().create(store());
    const RunId run = start_flow();
    const Error error = error_of([&] { store().resume(run, "a", Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(error.what(), "whose steps cannot be paused"));
}

TEST_P(FlowRunTest, a_retry_takes_over_what_was_done) {
    const RunId old = failed_run();
    advance(10s);
    const Run made = store().retry(old);
    EXPECT_NE(made.id(), old);
    const RunInfo seen = made.info();
    EXPECT_EQ(seen.status, RunStatus::queued);
    EXPECT_EQ(seen.workflow, "flow");
    EXPECT_EQ(seen.origin, old);
    EXPECT_EQ(seen.input.text, R"({"n":1})");
    EXPECT_EQ(seen.priority, 4);
    EXPECT_EQ(seen.parent, RunId(77));
    EXPECT_EQ(seen.tags.size(), 2U);
    EXPECT_FALSE(seen.idempotency_key);
    EXPECT_EQ(seen.remaining_steps, 3);
    EXPECT_EQ(states(made.id()), "a SUCCESS, b RUNNING, c RUNNING, d PENDING");
    EXPECT_EQ(task_states(made.id()), "a.0 SUCCESS, b.0 QUEUED, c.0 QUEUED");
    EXPECT_EQ(flat(step(made.id(), "a").output), "1");
    EXPECT_EQ(flat(task(made.id(), "a").output), "1");
    EXPECT_EQ(step(made.id(), "d").remaining_deps, 2);
    EXPECT_EQ(task(made.id(), "b").attempts, 0);
    EXPECT_TRUE(has_event(old, "retried"));
    const auto tasks = poll();
    ASSERT_EQ(names(tasks), "b, c");
    EXPECT_EQ(tasks[0].task.run, made.id());
    EXPECT_EQ(flat(tasks[0].input), R"({"run":{"n":1},"a":1})");
    complete(tasks[0], "2");
    complete(tasks[1], "3");
    work_step("d", "4");
    EXPECT_EQ(made.status(), RunStatus::success);
    EXPECT_EQ(output_of(made.id()), R"({"d":4})");
    EXPECT_EQ(states(old), "a SUCCESS, b ERROR, c CANCELLED, d CANCELLED") << "it stays";
    EXPECT_EQ(store().run(old).lineage().size(), 2U);
}

TEST_P(FlowRunTest, a_retry_takes_skipped_steps_and_maps_over_too) {
    flow("flow")
        .max_attempts(1)
        .step("no", {}, {.required_input_pattern = Json{"[9]"}})
        .map("each")
        .step("b", {"no", "each"})
        .create(store());
    const RunId old = start_flow("[1,2]");
    for (const Task& task : poll()) complete(task, task.input.text);
    fail(poll_step("b"));
    const RunId made = store().retry(old).id();
    EXPECT_EQ(states(made), "no SKIPPED, each SUCCESS, b RUNNING");
    EXPECT_EQ(step(made, "no").skip_reason, "condition_unmet");
    EXPECT_EQ(task_states(made), "each.0 SUCCESS, each.1 SUCCESS, b.0 QUEUED");
    EXPECT_EQ(flat(task(made, "each", 1).output), "2");
    EXPECT_EQ(step(made, "each").initial_tasks, 2);
    EXPECT_EQ(step(made, "each").remaining_tasks, 0);
    EXPECT_EQ(info(made).remaining_steps, 1);
    EXPECT_EQ(flat(poll_step("b").input), R"({"run":[1,2],"each":[1,2]})");
}

TEST_P(FlowRunTest, a_half_done_map_runs_again_in_a_retry) {
    flow("flow").max_attempts(1).map("each").create(store());
    const RunId old = start_flow("[1,2]");
    const auto tasks = poll();
    complete(tasks[0], "1");
    fail(tasks[1]);
    const RunId made = store().retry(old).id();
    EXPECT_EQ(states(made), "each RUNNING");
    EXPECT_EQ(task_states(made), "each.0 QUEUED, each.1 QUEUED");
    EXPECT_EQ(drain([](const Task& task) { return task.input.text; }), 2);
    EXPECT_EQ(output_of(made), R"({"each":[1,2]})");
}

TEST_P(FlowRunTest, only_failed_and_cancelled_runs_can_be_retried) {
    diamond().create(store());
    const RunId run = start_flow();
    EXPECT_EQ(error_of([&] { store().retry(run); }).code(), ErrorCode::run_not_failed);
    store().cancel(run, "no");
    const RunId made = store().retry(run).id();
    EXPECT_EQ(states(made), "a RUNNING, b PENDING, c PENDING, d PENDING");
    drain();
    EXPECT_EQ(status(made), RunStatus::success);
    EXPECT_EQ(error_of([&] { store().retry(made); }).code(), ErrorCode::run_not_failed);
}

TEST_P(FlowRunTest, a_fork_runs_a_step_and_all_after_it_again) {
    diamond().create(store());
    const RunId old = start_flow("0");
    drain([](const Task& task) { return "\"" + task.task.step + "\""; });
    const RunId made = store().fork(old, "c").id();
    EXPECT_EQ(states(made), "a SUCCESS, b SUCCESS, c RUNNING, d PENDING");
    EXPECT_EQ(step(made, "d").remaining_deps, 1);
    EXPECT_EQ(info(made).remaining_steps, 2);
    EXPECT_EQ(info(made).origin, old);
    EXPECT_EQ(info(made).forked_at, "c");
    EXPECT_TRUE(has_event(old, "forked"));
    work_step("c", R"("new")");
    EXPECT_EQ(flat(poll_step("d").input), R"({"run":0,"b":"b","c":"new"})");
    const RunId whole = store().fork(old, "a").id();
    EXPECT_EQ(states(whole), "a RUNNING, b PENDING, c PENDING, d PENDING");
    EXPECT_EQ(error_of([&] { store().fork(old, "nowhere"); }).code(), ErrorCode::step_not_found);
    EXPECT_EQ(output_of(old), R"({"d":"d"})") << "the old one stays";
}

TEST_P(FlowRunTest, a_fork_takes_a_skip_over_with_all_that_depends_on_it) {
    const Json never{R"({"never":1})"};
    flow("flow")
        .max_attempts(1)
        .step("a", {}, {.required_input_pattern = never, .when_unmet = WhenUnmet::skip_cascade})
        .step("b", {}, {.when_exhausted = WhenExhausted::skip_cascade})
        .step("c", {}, {.required_input_pattern = never})
        .step("d")
        .step("after_a", {"a"})
        .step("after_all", {"after_a", "d"})
        .step("after_b", {"b"})
        .step("after_c", {"c"})
        .create(store());
    const RunId old = start_flow("1");
    for (const Task& task : poll()) {
        if (task.task.step == "b") fail(task);
    }
    const RunId made = store().fork(old, "d").id();
    EXPECT_EQ(
        states(made),
        "a SKIPPED, b SKIPPED, c SKIPPED, d RUNNING, after_a SKIPPED, after_all SKIPPED, after_b "
        "SKIPPED, after_c RUNNING"
    );
    for (const std::string step_id : {"after_a", "after_all", "after_b"})
        EXPECT_EQ(step(made, step_id).skip_reason, "dependency_skipped") << step_id;
    EXPECT_EQ(info(made).remaining_steps, 2);
    store().cancel(old, "no");
    EXPECT_EQ(states(store().retry(old).id()), states(made));
    drain();
    EXPECT_EQ(output_of(made), R"({"after_c":null})");
}

TEST_P(FlowRunTest, a_fork_of_which_everything_is_skipped_succeeds_immediately) {
    flow("flow")
        .step(
            "a", {}, {.required_input_pattern = Json{"[9]"}, .when_unmet = WhenUnmet::skip_cascade}
        )
        .step("b", {"a"})
        .create(store());
    const RunId old = start_flow("1");
    const RunId made = store().fork(old, "b").id();
    EXPECT_EQ(states(made), "a SKIPPED, b SKIPPED");
    EXPECT_EQ(output_of(made), "{}");
    EXPECT_EQ(status(made), RunStatus::success);
}

TEST_P(FlowRunTest, a_fork_of_a_live_run_takes_over_only_what_is_done) {
    diamond().create(store());
    const RunId old = start_flow();
    work_step("a", "1");
    (void)poll(1);
    const RunId made = store().fork(old, "d").id();
    EXPECT_EQ(states(made), "a SUCCESS, b RUNNING, c RUNNING, d PENDING");
    EXPECT_EQ(states(old), "a SUCCESS, b RUNNING, c RUNNING, d PENDING");
}

TEST_P(FlowRunTest, runs_of_flows_stand_in_the_lists) {
    diamond().max_attempts(1).create(store());
    make_workflow("job");
    const RunId job = trigger("job");
    const RunId queued = start_flow("null", {.priority = -1, .tags = {"t"}});
    const RunId running = start_flow("null", {.tags = {"t"}});
    (void)poll_one();
    const RunId failed = start_flow();
    fail(poll(1).front());
    const RunId cancelled = start_flow();
    store().cancel(cancelled, "no");
    const auto ids = [&](const RunFilter& filter) {
        std::vector<RunId> found;
        for (const RunInfo& run : store().runs(filter)) found.push_back(run.id);
        return found;
    };
    EXPECT_EQ(ids({}), (std::vector{cancelled, failed, running, queued, job}));
    EXPECT_EQ(ids({.workflow = "flow"}), (std::vector{cancelled, failed, running, queued}));
    EXPECT_EQ(ids({.tag = "t"}), (std::vector{running, queued}));
    EXPECT_EQ(ids({.status = RunStatus::error}), std::vector{failed});
    EXPECT_EQ(ids({.workflow = "flow", .status = RunStatus::queued}), std::vector{queued});
    const RunCounts counts = store().count_runs({.workflow = "flow"});
    EXPECT_EQ(counts.queued, 1);
    EXPECT_EQ(counts.running, 1);
    EXPECT_EQ(counts.error, 1);
    EXPECT_EQ(counts.cancelled, 1);
    EXPECT_EQ(store().runs({.workflow = "flow"}).front().remaining_steps, 4);
    EXPECT_FALSE(info(job).remaining_steps);
}

TEST_P(FlowRunTest, metrics_count_runs_and_tasks) {
    diamond().max_attempts(1).create(store());
    (void)start_flow();
    (void)start_flow("null", {.delay = 1h});
    const RunId third = start_flow("null", {.priority = 9});
    Task first = poll_one();
    EXPECT_EQ(first.task.run, third);
    WorkflowMetrics seen = store().workflow_metrics("flow");
    EXPECT_EQ(seen.queue_depth, 1);
    EXPECT_EQ(seen.in_flight, 1);
    EXPECT_EQ(seen.waiting, 1);
    complete(first);
    EXPECT_EQ(store().workflow_metrics("flow").queue_depth, 3);
    advance(4s);
    while (status(third) != RunStatus::success) complete(poll_one());
    fail(poll_one());
    seen = store().workflow_metrics("flow");
    EXPECT_EQ(seen.succeeded, 1);
    EXPECT_EQ(seen.failed, 1);
    EXPECT_EQ(seen.average_duration, 4s);
    EXPECT_EQ(seen.in_flight, 0);
    EXPECT_EQ(seen.queue_depth, 0);
    EXPECT_EQ(seen.waiting, 1);
}

TEST_P(FlowRunTest, wait_returns_the_output) {
    flow("flow").step("a").create(store());
    const Run run = flow("flow").start(Json{"1"}).execute(store());
    EXPECT_EQ(error_of([&] { (void)run.wait_json(0s); }).code(), ErrorCode::wait_timeout);
    work_step("a", "42");
    EXPECT_EQ(flat(run.wait_json(0s)), R"({"a":42})");
    EXPECT_EQ((run.wait<std::map<std::string, int>>(0s)), (std::map<std::string, int>{{"a", 42}}));
}

TEST_P(FlowRunWakeupTest, a_waiter_in_another_store_is_woken_by_the_last_completion) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const Task task = poll_step("a");
    const Store other = open();
    std::jthread reporter([&] {
        EXPECT_TRUE(waits_for_runs(other));
        complete(task, "1");
    });
    EXPECT_EQ(flat(other.run(run).wait_json(no_limit)), R"({"a":1})");
}

TEST_P(FlowRunWakeupTest, a_waiter_is_woken_by_a_workers_batch_a_failure_and_a_cancel) {
    flow("flow").max_attempts(1).step("a").create(store());
    const RunId good = start_flow();
    const RunId bad = start_flow();
    const RunId cancelled = start_flow();
    const auto held = claim_tasks();
    ASSERT_EQ(held.size(), 3U);
    const Store other = open();
    std::jthread reporter([&] {
        EXPECT_TRUE(waits_for_runs(other, 3));
        commit_all({complete_write(held[0], "1"), fail_write(held[1], "no luck")});
        store().cancel(cancelled, "no");
    });
    const auto error_of_wait = [&](RunId run) {
        return std::async(std::launch::async, [&other, run] {
            return error_of([&] { (void)other.run(run).wait_json(no_limit); });
        });
    };
    auto failed = error_of_wait(bad);
    auto stopped = error_of_wait(cancelled);
    EXPECT_EQ(flat(other.run(good).wait_json(no_limit)), R"({"a":1})");
    const Error error = failed.get();
    EXPECT_EQ(error.code(), ErrorCode::execution_failed);
    EXPECT_TRUE(contains(error.what(), "no luck"));
    EXPECT_EQ(stopped.get().code(), ErrorCode::run_cancelled);
}

TEST_P(FlowRunTest, successful_ends_are_events_at_level_all) {
    flow("flow").step("a").create(store());
    const RunId quiet = start_flow();
    work_step("a");
    EXPECT_EQ(event_kinds(quiet), "");
    make_workflow("flow", {.audit = AuditLevel::all});
    const RunId loud = start_flow();
    work_step("a");
    EXPECT_EQ(event_kinds(loud), "triggered,task_started,task_succeeded,run_succeeded");
}

TEST_P(FlowRunTest, queued_runs_without_a_handler_fail) {
    flow("billing").step("a").step("b", {"a"}).create(store());
    const RunId begun = start_flow("null", {}, "billing");
    (void)poll_one("billing");
    const RunId queued = start_flow("null", {}, "billing");
    const std::vector<std::string> prefix{"bill"};
    EXPECT_EQ(detail::Access::backend(store())->fail_unhandled(prefix), std::vector{queued});
    EXPECT_EQ(status(queued), RunStatus::error);
    EXPECT_EQ(error_in(info(queued).error).type, "no_handler_registered");
    EXPECT_EQ(states(queued), "a CANCELLED, b CANCELLED");
    EXPECT_EQ(task_states(queued), "a.0 CANCELLED");
    EXPECT_EQ(status(begun), RunStatus::running);
    EXPECT_EQ(count(Rows::messages), 1);
    EXPECT_TRUE(detail::Access::backend(store())->fail_unhandled(prefix).empty());
    seam::NewWorker worker;
    worker.name = "w";
    worker.host = "here";
    worker.lease = 30s;
    worker.handlers = worker.subscriptions = {"billing"};
    (void)detail::Access::backend(store())->register_worker(worker);
    (void)start_flow("null", {}, "billing");
    EXPECT_TRUE(detail::Access::backend(store())->fail_unhandled(prefix).empty());
}

TEST_P(FlowRunTest, lists_of_running_runs_have_those_whose_next_task_is_not_taken) {
    flow("flow").max_attempts(1).step("a").step("b", {"a"}).create(store());
    const RunId begun = start_flow();
    const RunId taken = start_flow();
    const RunId failed = start_flow();
    const RunId cancelled = start_flow();
    (void)start_flow();
    const auto running = [&] {
        std::vector<RunId> ids;
        for (const RunInfo& run : store().runs({.status = RunStatus::running}))
            ids.push_back(run.id);
        return ids;
    };
    EXPECT_TRUE(running().empty());
    const auto tasks = poll(4);
    ASSERT_EQ(tasks.size(), 4U);
    (void)complete(tasks[0]);
    EXPECT_EQ(running(), (std::vector{cancelled, failed, taken, begun}));
    EXPECT_EQ(store().count_runs({.status = RunStatus::running}).running, 4);
    store().run(cancelled).cancel("test");
    EXPECT_EQ(running(), (std::vector{failed, taken, begun}));
    (void)fail(tasks[2]);
    EXPECT_EQ(status(failed), RunStatus::error);
    EXPECT_EQ(running(), (std::vector{taken, begun}));
    store().run(taken).remove("test");
    EXPECT_EQ(running(), (std::vector{begun}));
    drain();
    EXPECT_TRUE(running().empty());
}

}  // namespace
}  // namespace pawl::test
