// The events that are kept for runs of flows.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowAuditTest : public FlowTest {
protected:
    void keep(AuditLevel level) const { store().create_workflow("flow", {.audit = level}); }
};
PAWL_FOR_EACH_BACKEND(FlowAuditTest);

TEST_P(FlowAuditTest, a_task_whose_lease_ends_is_an_event_when_it_is_delivered_again) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    const HeldTask first = claim_task();
    advance(2h);
    (void)claim_task();
    EXPECT_EQ(event_kinds(run), "lease_lost");
    EXPECT_EQ(event_data(run, "lease_lost"), R"({"attempt":1,"step":"a","task_index":0})");
    EXPECT_EQ(store().run(run).events().at(0).delivery, first.message.delivery);
}

TEST_P(FlowAuditTest, a_task_whose_last_lease_ends_is_an_event_with_its_effects) {
    flow("flow").max_attempts(1).step("a").create(store());
    const RunId run = start_flow();
    (void)poll_step("a");
    advance(2h);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(event_kinds(run), "lease_lost,step_failed,run_failed");
}

TEST_P(FlowAuditTest, retries_skips_and_failures_are_events) {
    flow("flow")
        .max_attempts(2)
        .step("a", {}, {.max_attempts = 1, .when_exhausted = WhenExhausted::skip})
        .step("b", {"a"})
        .create(store());
    const RunId run = start_flow();
    fail(poll_step("a"));
    fail(poll_step("b"));
    advance(1h);
    fail(poll_step("b"), "at last");
    EXPECT_EQ(event_kinds(run), "step_skipped,task_retry,step_failed,run_failed");
    EXPECT_TRUE(contains(event_data(run, "step_failed"), R"("step":"b")"));
    EXPECT_TRUE(contains(event_data(run, "step_failed"), "at last"));
}

TEST_P(FlowAuditTest, a_condition_that_fails_a_step_is_an_event) {
    flow("flow")
        .step(
            "a", {}, {.required_input_pattern = Json{R"({"n":1})"}, .when_unmet = WhenUnmet::fail}
        )
        .create(store());
    const RunId run = start_flow(R"({"n":2})");
    EXPECT_EQ(event_kinds(run), "step_failed,run_failed");
    EXPECT_EQ(error_in(Json{event_data(run, "step_failed")}).type, "condition_unmet");
}

TEST_P(FlowAuditTest, operations_of_users_are_events) {
    flow("flow").step("a", {}, {.start_delay = 1h}).create(store());
    const RunId run = start_flow();
    store().wake(run);
    store().cancel(run, "enough");
    (void)store().retry(run);
    (void)store().fork(run, "a");
    store().delete_run(run, "old");
    EXPECT_EQ(event_kinds(run), "woken,cancelled,retried,forked,deleted");
    EXPECT_TRUE(contains(event_data(run, "cancelled"), "enough"));
}

TEST_P(FlowAuditTest, level_all_keeps_the_events_of_every_task) {
    flow("flow").step("a").map("each", "a").create(store());
    keep(AuditLevel::all);
    const RunId run = start_flow();
    const HeldTask a = claim_task();
    EXPECT_EQ(event_kinds(run), "triggered,task_started");
    EXPECT_EQ(event_data(run, "task_started"), R"({"attempt":1,"step":"a","task_index":0})");
    EXPECT_EQ(commit(complete_write(a, "[1,2]")), WriteStatus::done);
    for (const HeldTask& task : claim_tasks()) commit(complete_write(task, "7"));
    EXPECT_EQ(
        event_kinds(run),
        "triggered,task_started,task_succeeded,task_started,task_started,task_succeeded,"
        "task_succeeded,run_succeeded"
    );
    const auto events = store().run(run).events();
    EXPECT_EQ(flat(events.at(2).data), R"({"step":"a","task_index":0,"attempt":1})");
    EXPECT_EQ(flat(events.at(6).data), R"({"step":"each","task_index":1,"attempt":1})");
    EXPECT_EQ(events.at(2).delivery, 1);
}

TEST_P(FlowAuditTest, tasks_that_are_reported_by_name_are_events_too) {
    flow("flow").step("a").create(store());
    keep(AuditLevel::all);
    const RunId run = start_flow();
    work_step("a");
    EXPECT_EQ(event_kinds(run), "triggered,task_started,task_succeeded,run_succeeded");
}

TEST_P(FlowAuditTest, a_report_that_is_fenced_off_leaves_no_event) {
    flow("flow").step("a").create(store());
    keep(AuditLevel::all);
    const RunId run = start_flow();
    const HeldTask late = claim_task();
    advance(2h);
    const HeldTask now = claim_task();
    EXPECT_EQ(commit(complete_write(late)), WriteStatus::lease_lost);
    EXPECT_EQ(event_kinds(run), "triggered,task_started,lease_lost,task_started");
    EXPECT_EQ(commit(complete_write(now)), WriteStatus::done);
    EXPECT_EQ(commit(complete_write(now), Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(
        event_kinds(run),
        "triggered,task_started,lease_lost,task_started,task_succeeded,run_succeeded"
    );
}

TEST_P(FlowAuditTest, by_default_successes_are_not_events_and_level_off_keeps_none) {
    flow("flow").max_attempts(1).step("a").step("b", {"a"}).create(store());
    const RunId good = start_flow();
    EXPECT_EQ(drain(), 2);
    EXPECT_EQ(status(good), RunStatus::success);
    EXPECT_EQ(count(Rows::events), 0);
    keep(AuditLevel::off);
    const RunId bad = start_flow();
    (void)poll_step("a");
    advance(2h);
    EXPECT_TRUE(poll().empty());
    EXPECT_EQ(status(bad), RunStatus::error);
    store().delete_run(store().retry(bad).id(), "old");
    EXPECT_EQ(count(Rows::events), 0);
}

}  // namespace
}  // namespace pawl::test
