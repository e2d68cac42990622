// store.history(): rows and events in one list. On PostgreSQL run_history() returns the same.
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class HistoryTest : public FlowTest {
protected:
    // "started, step_started a, step_succeeded a": kinds with their steps, in order.
    [[nodiscard]] std::string story(RunId run) const {
        std::string told;
        for (const HistoryEntry& entry : store().run(run).history())
            told += (told.empty() ? "" : ", ") + entry.kind +
                    (entry.step.empty() ? "" : " " + entry.step);
        EXPECT_EQ(in_sql(run, told), told);
        return told;
    }
    [[nodiscard]] std::string texts(RunId run) const {
        std::string told;
        for (const HistoryEntry& entry : store().run(run).history()) told += entry.text + "\n";
        return told;
    }
    [[nodiscard]] HistoryEntry entry(RunId run, const std::string& kind) const {
        for (HistoryEntry& entry : store().run(run).history())
            if (entry.kind == kind) return std::move(entry);
        ADD_FAILURE() << "nothing tells " << kind;
        return {};
    }
    // A step's start is its end minus the real time that its body took, which no test sets: the
    // clock advances by more than that.
    void take_time() const { advance(10min); }
    static void drain_with(Worker& worker) {
        while (worker.poll_once() > 0) continue;
    }

private:
    [[nodiscard]] std::string in_sql(RunId run, const std::string& told) const {
        if (GetParam() != BackendKind::postgres) return told;
        return database()->value(
            "select string_agg(kind || coalesce(' ' || step_id, ''), ', ' order by place) from " +
            place().schema() + ".run_history(" + std::to_string(run.value()) +
            ") with ordinality as h (at, kind, step_id, status, attempt, delivery, worker_id, "
            "data, place)"
        );
    }
};
PAWL_FOR_EACH_BACKEND(HistoryTest);

TEST_P(HistoryTest, rows_alone_describe_a_successful_run) {
    make_workflow("job", {.audit = AuditLevel::off});
    const RunId run = trigger("job", Json{"7"});
    EXPECT_EQ(story(run), "triggered");
    auto made = worker_for([&](Context& ctx, int n) {
        ctx.step("a", [&] { take_time(); });
        return ctx.step("b", [&] {
            take_time();
            return n + 1;
        });
    });
    drain_with(made);
    EXPECT_EQ(
        story(run),
        "triggered, started, step_started a, step_succeeded a, step_started b, step_succeeded b, "
        "run_succeeded"
    );
    EXPECT_EQ(entry(run, "triggered").data, Json{"7"});
    const HistoryEntry end = entry(run, "run_succeeded");
    EXPECT_EQ(end.data, Json{"8"});
    EXPECT_EQ(end.worker, made.id());
    EXPECT_EQ(end.delivery, 1);
    EXPECT_EQ(
        texts(run),
        "triggered\nstarted\nstep 'a' started\nstep 'a' succeeded\nstep 'b' started\n"
        "step 'b' succeeded\nsucceeded\n"
    );
}

TEST_P(HistoryTest, the_history_is_the_same_if_all_events_are_kept) {
    make_workflow("job", {.audit = AuditLevel::all});
    const RunId run = trigger();
    auto made = worker_for([&](Context& ctx) { ctx.step("a", [&] { take_time(); }); });
    drain_with(made);
    EXPECT_EQ(story(run), "triggered, started, step_started a, step_succeeded a, run_succeeded");
    EXPECT_EQ(entry(run, "started").worker, made.id()) << "which only the event knows";
}

TEST_P(HistoryTest, retries_stand_between_the_start_and_the_end_of_a_step) {
    make_workflow("job", {.max_attempts = 2, .backoff_base = 1s, .backoff_cap = 1s});
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("charge", [] { throw TransientError("no line"); });
    });
    drain_with(made);
    advance(2s);
    drain_with(made);
    EXPECT_EQ(
        story(run),
        "triggered, started, step_retry charge, step_started charge, step_failed charge, run_failed"
    );
    EXPECT_EQ(entry(run, "step_retry").attempt, 1);
    EXPECT_EQ(entry(run, "step_failed").attempt, 2);
    EXPECT_EQ(
        texts(run),
        "triggered\nstarted\n"
        "step 'charge' failed in attempt 1, will be retried: no line (transient)\n"
        "step 'charge' started (attempt 2)\n"
        "step 'charge' failed in attempt 2: no line (transient)\n"
        "failed: no line (transient)\n"
    );
}

TEST_P(HistoryTest, a_takeover_is_listed_between_its_deliveries) {
    make_workflow("job", {.audit = AuditLevel::all});
    const Held held = trigger_and_claim();
    advance(31s);
    auto made = worker_for([&](Context& ctx) { ctx.step("a", [&] { take_time(); }); });
    drain_with(made);
    EXPECT_EQ(
        story(held.id()),
        "triggered, started, lease_lost, started, step_started a, step_succeeded a, run_succeeded"
    );
    EXPECT_TRUE(contains(
        texts(held.id()),
        "lease of delivery 1 expired without a report: the run was delivered again"
    ));
    EXPECT_TRUE(contains(texts(held.id()), "delivered again (delivery 2)"));
}

TEST_P(HistoryTest, pauses_and_operations_of_users_are_listed) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.sleep(1s);
        ctx.pause("ask", "is that so?");
    });
    drain_with(made);
    EXPECT_EQ(story(run), "triggered, started, step_started sleep, suspended sleep");
    advance(1s);
    drain_with(made);
    EXPECT_TRUE(contains(texts(run), "paused at step 'ask': is that so?"));
    advance(1s);
    store().resume(run, "ask", 5);
    advance(1s);
    store().cancel(run, "enough");
    const RunId again = store().retry(run).id();
    advance(1s);
    store().delete_run(run, "old");
    EXPECT_EQ(
        story(run),
        "triggered, started, step_started sleep, step_succeeded sleep, step_started ask, paused "
        "ask, resumed ask, step_succeeded ask, cancelled, retried, deleted"
    );
    EXPECT_EQ(story(again), "triggered, step_taken_over sleep, step_taken_over ask");
    EXPECT_TRUE(contains(texts(run), ": enough"));
    EXPECT_TRUE(contains(texts(run), ": old"));
    EXPECT_TRUE(contains(texts(again), "created as a retry of run " + std::to_string(run.value())));
}

TEST_P(HistoryTest, a_paused_step_without_events_is_listed_from_its_row) {
    make_workflow("job", {.audit = AuditLevel::off});
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) { ctx.pause("ask", "is that so?"); });
    drain_with(made);
    EXPECT_EQ(story(run), "triggered, started, step_started ask, paused ask");
}

TEST_P(HistoryTest, ends_caused_by_pawl_are_listed_by_their_kind) {
    for (const AuditLevel level : {AuditLevel::off, AuditLevel::exceptions}) {
        make_workflow("job", {.max_strikes = 1, .audit = level});
        const RunId run = trigger();
        (void)claim_one();
        advance(31s);
        EXPECT_TRUE(claim(10).messages.empty());
        EXPECT_EQ(story(run), "triggered, started, poison");
    }
}

TEST_P(HistoryTest, a_flow_is_listed_step_by_step) {
    flow("flow").max_attempts(2).step("a").map("each", "a").step("last", {"each"}).create(store());
    const RunId run = start_flow();
    fail(poll_step("a"));
    advance(1h);
    work_step("a", "[1,2]");
    for (const Task& task : poll()) complete(task, "7");
    work_step("last");
    EXPECT_EQ(
        story(run),
        "triggered, started, step_started a, task_retry a, task_started a, step_succeeded a, "
        "step_started each, task_started each, task_succeeded each, task_started each, "
        "task_succeeded each, step_succeeded each, step_started last, task_started last, "
        "step_succeeded last, run_succeeded"
    );
    EXPECT_TRUE(contains(texts(run), "task 1 of step 'each' succeeded"));
    const HistoryEntry end = entry(run, "step_succeeded");
    EXPECT_EQ(end.attempt, 2) << "of its only task";
    EXPECT_EQ(end.delivery, 2);
}

TEST_P(HistoryTest, a_flow_with_all_events_lists_everything_once) {
    flow("flow").max_attempts(2).step("a").step("b", {"a"}).create(store());
    store().create_workflow("flow", {.audit = AuditLevel::all});
    const RunId run = start_flow();
    fail(poll_step("a"));
    advance(1h);
    work_step("a");
    (void)poll_step("b");
    advance(2h);
    work_step("b");
    EXPECT_EQ(
        story(run),
        "triggered, started, step_started a, task_started a, task_retry a, task_started a, "
        "step_succeeded a, step_started b, task_started b, lease_lost b, task_started b, "
        "step_succeeded b, run_succeeded"
    );
}

TEST_P(HistoryTest, skips_failures_and_cancelled_steps_of_a_flow_are_listed) {
    flow("flow")
        .max_attempts(1)
        .step("a", {}, {.when_exhausted = WhenExhausted::skip})
        .step("b", {"a"})
        .step("c", {"b"})
        .create(store());
    const RunId run = start_flow();
    fail(poll_step("a"));
    fail(poll_step("b"), "no luck");
    EXPECT_EQ(
        story(run),
        "triggered, started, step_started a, task_started a, task_failed a, step_skipped a, "
        "step_started b, task_started b, step_failed b, step_cancelled c, run_failed"
    );
    const RunId again = store().retry(run).id();
    EXPECT_EQ(story(again), "triggered, step_taken_over a, step_started b");
    EXPECT_TRUE(contains(texts(run), "step 'b' failed in attempt 1: no luck (task_failed)"));
}

TEST_P(HistoryTest, there_is_no_history_of_an_unknown_run) {
    EXPECT_EQ(
        error_of([&] { (void)store().run(RunId(4711)).history(); }).code(), ErrorCode::run_not_found
    );
}

}  // namespace
}  // namespace pawl::test
