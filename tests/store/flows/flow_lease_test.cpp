// Leases of tasks: their length, the delivery after a lost lease, and delayed starts.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowLeaseTest : public FlowTest {};
PAWL_FOR_EACH_BACKEND(FlowLeaseTest);

TEST_P(FlowLeaseTest, a_lease_is_the_timeout_and_two_seconds) {
    flow("flow").step("flows").step("own", {}, {.task_timeout = 5s}).create(store());
    (void)start_flow();
    const auto tasks = store().poll_for_tasks("flow", 10, 1h);
    ASSERT_EQ(names(tasks), "flows, own");
    EXPECT_EQ(tasks[0].lease_ends_at, start + 62s) << "vt does not count where there is a timeout";
    EXPECT_EQ(tasks[1].lease_ends_at, start + 7s);
}

TEST_P(FlowLeaseTest, without_a_timeout_the_lease_is_that_of_the_poll) {
    flow("flow").timeout(0s).step("a").step("own", {}, {.task_timeout = 5s}).create(store());
    flow("mixed").step("a", {}, {.task_timeout = 0s}).create(store());
    (void)start_flow();
    (void)start_flow("null", {}, "mixed");
    const auto tasks = store().poll_for_tasks("flow", 10, 90s);
    ASSERT_EQ(tasks.size(), 2U);
    EXPECT_EQ(tasks[0].lease_ends_at, start + 90s);
    EXPECT_EQ(tasks[1].lease_ends_at, start + 7s);
    EXPECT_EQ(store().poll_for_tasks("mixed", 1, 11s).at(0).lease_ends_at, start + 11s);
    EXPECT_EQ(
        error_of([&] { (void)store().poll_for_tasks("flow", 1, 0ms); }).code(),
        ErrorCode::invalid_argument
    );
}

TEST_P(FlowLeaseTest, a_claim_without_a_lease_has_the_stores) {
    flow("flow").timeout(0s).step("a").create(store());
    (void)start_flow();
    const seam::Claim got = claim_work(1);
    EXPECT_EQ(got.messages.at(0).visible_at, start + 30s);
    EXPECT_FALSE(got.tasks.at(0).timeout);
}

TEST_P(FlowLeaseTest, a_leased_task_is_not_delivered_again) {
    flow("flow").step("a").create(store());
    (void)start_flow();
    EXPECT_EQ(poll().size(), 1U);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(claim_work().next_due, start + 62s);
    advance(62s - 1ms);
    EXPECT_TRUE(poll().empty());
}

TEST_P(FlowLeaseTest, a_task_whose_lease_has_ended_is_delivered_again) {
    flow("flow").step("a").step("b", {"a"}).create(store());
    const RunId run = start_flow("7");
    const Task first = poll_step("a");
    advance(62s);
    const Task second = poll_step("a");
    EXPECT_EQ(second.message, first.message);
    EXPECT_EQ(second.attempts, 2);
    EXPECT_EQ(second.delivery, 2);
    EXPECT_EQ(flat(second.input), R"({"run":7})");
    EXPECT_EQ(task(run, "a").started_at, start + 62s) << "of this start";
    EXPECT_EQ(info(run).started_at, start);
    EXPECT_EQ(complete(first, R"("late")"), TaskOutcome::lease_lost);
    EXPECT_EQ(fail(first), TaskOutcome::lease_lost);
    EXPECT_EQ(task(run, "a").status, TaskStatus::running);
    EXPECT_EQ(complete(second, R"("good")"), TaskOutcome::done);
    EXPECT_EQ(complete(first, R"("later")"), TaskOutcome::finished);
    EXPECT_EQ(flat(step(run, "a").output), R"("good")");
    EXPECT_EQ(names(poll()), "b");
}

TEST_P(FlowLeaseTest, a_late_report_counts_until_the_task_is_delivered_again) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const Task task = poll_step("a");
    advance(1h);
    EXPECT_EQ(complete(task, "1"), TaskOutcome::done);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_TRUE(poll().empty());
}

TEST_P(FlowLeaseTest, without_a_delivery_the_first_report_counts_from_any_worker) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const Task first = poll_step("a");
    advance(62s);
    const Task second = poll_step("a");
    EXPECT_EQ(store().complete_task(first.task, Json{"1"}), TaskOutcome::done);
    EXPECT_EQ(complete(second, "2"), TaskOutcome::finished);
    EXPECT_EQ(flat(step(run, "a").output), "1");
}

TEST_P(FlowLeaseTest, a_task_without_attempts_left_fails_when_its_lease_ends) {
    flow("flow").max_attempts(2).step("a").step("side").step("b", {"a"}).create(store());
    const RunId run = start_flow();
    EXPECT_EQ(poll().size(), 2U);
    advance(62s);
    const auto again = poll();
    ASSERT_EQ(names(again), "a, side");
    EXPECT_EQ(again[0].attempts, 2);
    EXPECT_EQ(complete(again[1]), TaskOutcome::done);
    advance(62s);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task_states(run), "a.0 ERROR, side.0 SUCCESS");
    EXPECT_EQ(states(run), "a ERROR, side SUCCESS, b CANCELLED");
    EXPECT_EQ(task(run, "a").attempts, 2);
    EXPECT_EQ(task(run, "a").error, "no report within its lease (attempt 2)");
    EXPECT_EQ(error_in(info(run).error).step, "a");
    EXPECT_EQ(error_in(info(run).error).attempt, 2);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "no report within its lease"));
    EXPECT_EQ(info(run).completed_at, store().now());
    EXPECT_EQ(complete(again[0]), TaskOutcome::finished);
    EXPECT_EQ(count(Rows::messages), 0);
    EXPECT_TRUE(has_event(run, "run_failed"));
}

TEST_P(FlowLeaseTest, an_exhausted_lease_follows_when_exhausted) {
    flow("flow")
        .max_attempts(1)
        .step("a", {}, {.when_exhausted = WhenExhausted::skip})
        .step("b", {"a"})
        .create(store());
    const RunId run = start_flow();
    (void)poll_step("a");
    advance(62s);
    auto tasks = poll();
    EXPECT_EQ(states(run), "a SKIPPED, b RUNNING");
    if (tasks.empty()) tasks = poll();
    ASSERT_EQ(names(tasks), "b");
    EXPECT_EQ(step(run, "a").skip_reason, "handler_failed");
    EXPECT_EQ(task(run, "a").status, TaskStatus::error);
    complete(tasks[0], "1");
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowLeaseTest, exhausted_tasks_among_good_ones_harm_none_of_them) {
    flow("flow").max_attempts(1).step("a").create(store());
    std::vector<RunId> bad;
    for (int i = 0; i < 5; ++i) bad.push_back(start_flow());
    EXPECT_EQ(poll().size(), 5U);
    advance(62s);
    std::vector<RunId> good;
    for (int i = 0; i < 5; ++i) good.push_back(start_flow());
    std::vector<RunId> got;
    for (int i = 0; i < 10; ++i) {
        for (const Task& task : poll(3)) got.push_back(task.task.run);
    }
    EXPECT_EQ(got, good);
    for (const RunId run : bad) EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(FlowLeaseTest, a_late_report_of_an_exhausted_task_counts_until_the_next_claim) {
    flow("flow").max_attempts(1).step("a").create(store());
    const RunId run = start_flow();
    const Task task = poll_step("a");
    advance(2h);
    EXPECT_EQ(complete(task, "1"), TaskOutcome::done);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowLeaseTest, a_lease_can_be_extended) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    advance(60s);
    const Write extension = extend_write(held, 30s);
    EXPECT_EQ(
        detail::Access::backend(store())
            ->heartbeat({}, std::span(&extension, 1))
            .outcomes.at(0)
            .status,
        WriteStatus::done
    );
    EXPECT_EQ(message(held.message.id)->visible_at, start + 90s);
    advance(10s);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(commit(extension), WriteStatus::done);
    EXPECT_EQ(message(held.message.id)->visible_at, start + 100s);
    EXPECT_EQ(commit(complete_write(held)), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(commit(extension), WriteStatus::lease_lost);
}

TEST_P(FlowLeaseTest, a_task_that_was_lost_twice_is_delivered_alone) {
    flow("flow").max_attempts(10).step("a").step("b").create(store());
    const RunId suspect = start_flow();
    const auto both = poll();
    ASSERT_EQ(names(both), "a, b");
    complete(both[1]);
    advance(62s);
    EXPECT_EQ(names(poll()), "a");
    advance(62s);
    (void)start_flow();
    const auto alone = poll();
    ASSERT_EQ(names(alone), "a");
    EXPECT_EQ(alone[0].task.run, suspect);
    EXPECT_EQ(alone[0].attempts, 3);
    EXPECT_EQ(names(poll()), "a, b");
}

TEST_P(FlowLeaseTest, lost_leases_alone_are_not_poison) {
    flow("flow").max_attempts(30).step("a").create(store());
    const RunId run = start_flow();
    for (int i = 1; i <= 30; ++i) {
        EXPECT_EQ(poll_step("a").attempts, i);
        advance(62s);
    }
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").error, "no report within its lease (attempt 30)");
}

TEST_P(FlowLeaseTest, a_worker_holds_a_task_by_its_own_lease) {
    flow("flow").timeout(1h).step("a").create(store());
    (void)start_flow();
    const seam::Claim got = claim_work(1, "flow", WorkerId(7), 10s);
    EXPECT_EQ(got.messages.at(0).visible_at, start + 10s);
    EXPECT_EQ(got.tasks.at(0).timeout, 1h) << "it limits the execution";
}

TEST_P(FlowLeaseTest, a_crash_of_a_worker_uses_no_attempt) {
    flow("flow").max_attempts(1).step("a").create(store());
    const RunId run = start_flow();
    const HeldTask lost = claim_task("flow", WorkerId(7));
    advance(30s);
    const HeldTask taken = claim_task("flow", WorkerId(8));
    EXPECT_EQ(taken.claimed.attempts, 1);
    EXPECT_EQ(taken.message.strikes, 2);
    EXPECT_EQ(taken.message.delivery, 2);
    EXPECT_EQ(task(run, "a").attempts, 1);
    EXPECT_EQ(task(run, "a").worker, WorkerId(8));
    EXPECT_TRUE(has_event(run, "lease_lost"));
    EXPECT_EQ(commit(complete_write(lost)), WriteStatus::lease_lost);
    EXPECT_EQ(commit(complete_write(taken)), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowLeaseTest, a_takeover_of_a_workers_task_restores_its_attempt) {
    flow("flow").max_attempts(1).step("a").create(store());
    const RunId run = start_flow();
    (void)claim_task("flow", WorkerId(7));
    advance(30s);
    const Task taken = poll_step("a");
    EXPECT_EQ(taken.attempts, 1);
    EXPECT_EQ(taken.lease_ends_at, store().now() + 62s) << "a poller's";
    advance(62s);
    EXPECT_TRUE(claim_tasks(10, "flow", WorkerId(8)).empty()) << "a poller's attempt is used";
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").error, "no report within its lease (attempt 1)");
}

TEST_P(FlowLeaseTest, a_task_that_kills_its_workers_is_poison) {
    flow("flow").max_attempts(1).step("a").step("b", {"a"}).create(store());
    const RunId run = start_flow();
    for (int i = 1; i <= 5; ++i) {
        EXPECT_EQ(claim_task("flow", WorkerId(i)).message.strikes, i);
        advance(30s);
    }
    EXPECT_TRUE(claim_tasks(10, "flow", WorkerId(9)).empty());
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").error, "poison: delivered 5 times without a report");
    EXPECT_EQ(states(run), "a ERROR, b CANCELLED");
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(FlowLeaseTest, a_report_ends_the_count_of_strikes) {
    flow("flow").max_attempts(2).base_delay(0s).step("a").create(store());
    const RunId run = start_flow();
    for (int i = 1; i <= 4; ++i) {
        (void)claim_task("flow", WorkerId(i));
        advance(30s);
    }
    EXPECT_EQ(commit(fail_write(claim_task("flow", WorkerId(5)))), WriteStatus::done);
    const HeldTask again = claim_task("flow", WorkerId(6));
    EXPECT_EQ(again.claimed.attempts, 2);
    EXPECT_EQ(again.message.strikes, 1);
    EXPECT_EQ(commit(complete_write(again)), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowLeaseTest, a_start_delay_holds_a_step_back) {
    flow("flow")
        .step("root", {}, {.start_delay = 5s})
        .step("a")
        .step("b", {"a"}, {.start_delay = 10s})
        .map("m", "a", {.start_delay = 20s})
        .create(store());
    const RunId run = start_flow();
    work_step("a", "[1,2]");
    EXPECT_EQ(states(run), "root RUNNING, a SUCCESS, b RUNNING, m RUNNING");
    EXPECT_EQ(message(task(run, "b").message)->state, MessageState::waiting);
    EXPECT_EQ(message(task(run, "b").message)->visible_at, start + 10s);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(claim_work().next_due, start + 5s);
    advance(5s);
    EXPECT_EQ(names(poll()), "root");
    advance(5s);
    EXPECT_EQ(names(poll()), "b");
    advance(10s);
    EXPECT_EQ(names(poll()), "m, m.1");
    EXPECT_EQ(task(run, "b").started_at, start + 10s);
    EXPECT_EQ(task(run, "b").queued_at, start);
}

TEST_P(FlowLeaseTest, the_later_of_start_delay_and_the_triggers_delay_holds) {
    flow("flow")
        .step("a", {}, {.start_delay = 5s})
        .step("b", {}, {.start_delay = 60s})
        .create(store());
    const RunId run = start_flow("null", {.delay = 20s});
    EXPECT_GE(message(task(run, "a").message)->visible_at, start + 20s);
    EXPECT_GE(message(task(run, "b").message)->visible_at, start + 60s);
}

TEST_P(FlowLeaseTest, a_retry_does_not_wait_for_the_start_delay_again) {
    flow("flow").base_delay(1s).step("a", {}, {.start_delay = 1h}).create(store());
    const RunId run = start_flow();
    advance(1h);
    fail(poll_step("a"));
    EXPECT_EQ(message(task(run, "a").message)->visible_at, start + 1h + 2s);
}

TEST_P(FlowLeaseTest, wake_lets_waiting_tasks_start_now) {
    flow("flow").step("a", {}, {.start_delay = 1h}).step("b").create(store());
    const RunId run = start_flow();
    fail(poll_step("b"));
    const RunId other = start_flow();
    (void)poll_step("b");
    store().wake(run);
    const auto tasks = poll();
    ASSERT_EQ(names(tasks), "a, b");
    for (const Task& task : tasks) EXPECT_EQ(task.task.run, run);
    EXPECT_EQ(message(task(other, "a").message)->visible_at, start + 1h);
    EXPECT_TRUE(has_event(run, "woken"));
    store().wake(run);
    EXPECT_TRUE(poll().empty()) << "leased tasks stay leased";
}

}  // namespace
}  // namespace pawl::test
