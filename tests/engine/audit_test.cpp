// The events that are kept for code-first runs, by the audit level of their workflow.
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class AuditTest : public FlowTest {
protected:
    void keep(AuditLevel level) const { make_workflow("job", {.audit = level}); }
    static void drain_with(Worker& worker) {
        while (worker.poll_once() > 0) continue;
    }
    [[nodiscard]] RunEvent event(RunId run, const std::string& kind) const {
        for (const RunEvent& event : store().run(run).events())
            if (event.kind == kind) return event;
        ADD_FAILURE() << "no event " << kind;
        return {};
    }
    // A checkpoint with an event, as a worker writes it at level `all`.
    [[nodiscard]] static Write told(const Lease& lease, const std::string& step, int position) {
        Write write = checkpoint(lease, step, position);
        write.event = AuditEvent{"step_succeeded", R"({"step":")" + step + R"(","attempt":1})"};
        return write;
    }
};
PAWL_FOR_EACH_BACKEND(AuditTest);

TEST_P(AuditTest, a_lease_that_ends_without_a_report_is_an_event_when_another_worker_takes_over) {
    keep(AuditLevel::exceptions);
    seam::NewWorker lost_worker;
    lost_worker.name = "dead";
    lost_worker.lease = 30s;
    const WorkerId dead = detail::Access::backend(store())->register_worker(lost_worker);
    const RunId run = trigger();
    (void)claim_one("job", dead);
    EXPECT_EQ(event_kinds(run), "");
    advance(31s);
    EXPECT_EQ(event_kinds(run), "") << "not detected yet";
    (void)claim_one();
    EXPECT_EQ(event_kinds(run), "lease_lost");
    const RunEvent lost = event(run, "lease_lost");
    EXPECT_EQ(lost.worker, dead) << "who had it";
    EXPECT_EQ(lost.delivery, 1);
    EXPECT_EQ(lost.at, store().now());
}

TEST_P(AuditTest, of_many_leases_that_end_only_those_delivered_again_are_events) {
    keep(AuditLevel::exceptions);
    const auto runs = trigger_many(5);
    (void)claim_many(5);
    advance(31s);
    (void)claim_many(2);
    EXPECT_EQ(count(Rows::events), 2);
    (void)claim_many(3);
    EXPECT_EQ(count(Rows::events), 5);
    for (const RunId run : runs) EXPECT_EQ(event_kinds(run), "lease_lost");
}

TEST_P(AuditTest, a_wait_that_ends_is_not_a_lost_lease) {
    keep(AuditLevel::exceptions);
    const Held held = trigger_and_claim();
    EXPECT_EQ(commit(sleep_step(held.lease(), "nap", 1, 10s)), WriteStatus::done);
    advance(11s);
    (void)claim_one();
    EXPECT_EQ(event_kinds(held.id()), "");
}

TEST_P(AuditTest, a_message_of_a_plain_queue_leaves_no_event) {
    const Queue queue = make_queue("mail");
    queue.enqueue(Json{"1"});
    (void)take_one(queue);
    advance(31s);
    (void)take_one(queue);
    EXPECT_EQ(count(Rows::events), 0);
}

TEST_P(AuditTest, a_step_that_fails_permanently_is_an_event_even_if_the_run_continues) {
    keep(AuditLevel::exceptions);
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        try {
            ctx.step("charge", [] { throw PermanentError("card declined"); });
        } catch (const StepError&) {
        }
    });
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(event_kinds(run), "step_failed");
    const RunEvent failed = event(run, "step_failed");
    EXPECT_EQ(error_in(failed.data).message, "card declined");
    EXPECT_EQ(error_in(failed.data).step, "charge");
    EXPECT_EQ(failed.worker, made.id());
    EXPECT_EQ(failed.delivery, 1);
}

TEST_P(AuditTest, retries_and_failures_are_events) {
    make_workflow("job", {.max_attempts = 2, .backoff_base = 1ms, .backoff_cap = 1ms});
    const RunId run = trigger("job", Json{"0"});
    const RunId outside = trigger("job", Json{"1"});
    auto made = worker_for([&](Context& ctx, int n) {
        if (n == 0) ctx.step("charge", [] { throw TransientError("no line"); });
        throw TransientError("no luck");
    });
    for (int i = 0; i < 4; ++i) {
        drain_with(made);
        advance(1s);
    }
    EXPECT_EQ(event_kinds(run), "step_retry,step_failed,run_failed");
    EXPECT_EQ(event_kinds(outside), "run_retry,run_failed");
}

TEST_P(AuditTest, a_pause_outside_of_steps_is_an_event_once) {
    keep(AuditLevel::exceptions);
    const RunId run = trigger();
    auto made = worker_for([](Context&) { throw PauseError("the bank is closed"); });
    for (int i = 0; i < 3; ++i) {
        drain_with(made);
        advance(2h);
    }
    EXPECT_EQ(event_kinds(run), "paused");
    EXPECT_EQ(error_in(event(run, "paused").data).message, "the bank is closed");
}

TEST_P(AuditTest, operations_of_users_are_events) {
    keep(AuditLevel::exceptions);
    const RunId asked = trigger();
    auto made = worker_for([](Context& ctx) { ctx.pause("ask", "a person"); });
    drain_with(made);
    store().wake(asked);
    store().resume(asked, "ask");
    store().cancel(asked, "enough");
    EXPECT_EQ(event_kinds(asked), "paused,woken,resumed,cancelled");
    EXPECT_EQ(error_in(event(asked, "cancelled").data).message, "enough");
    const RunId again = store().retry(asked).id();
    const RunId forked = store().fork(asked, "ask").id();
    store().delete_run(asked, "old");
    EXPECT_EQ(event_kinds(asked), "paused,woken,resumed,cancelled,retried,forked,deleted");
    EXPECT_TRUE(contains(event(asked, "retried").data.text, std::to_string(again.value())));
    EXPECT_TRUE(contains(event(asked, "forked").data.text, std::to_string(forked.value())));
    EXPECT_TRUE(contains(event(asked, "deleted").data.text, "old"));
}

TEST_P(AuditTest, level_all_keeps_every_event_of_a_run) {
    keep(AuditLevel::all);
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("first", [] {});
        ctx.sleep(10s);
        ctx.pause("ask", "a person", 1min);
        ctx.step("last", [] {});
    });
    drain_with(made);
    EXPECT_EQ(event_kinds(run), "triggered,started,step_succeeded,suspended");
    advance(10s);
    drain_with(made);
    EXPECT_EQ(
        event_kinds(run), "triggered,started,step_succeeded,suspended,started,step_succeeded,paused"
    );
    advance(1min);
    drain_with(made);
    store().resume(run, "ask");
    drain_with(made);
    EXPECT_EQ(
        event_kinds(run),
        "triggered,started,step_succeeded,suspended,started,step_succeeded,paused,started,"
        "suspended,"
        "resumed,started,step_succeeded,run_succeeded"
    );
    const RunEvent first = event(run, "step_succeeded");
    EXPECT_EQ(flat(first.data), R"({"step":"first","attempt":1})");
    EXPECT_EQ(first.worker, made.id());
    EXPECT_EQ(first.delivery, 1);
    EXPECT_EQ(event(run, "started").worker, made.id());
    EXPECT_EQ(event(run, "triggered").delivery, 0);
}

TEST_P(AuditTest, level_all_keeps_every_delivery_however_it_is_claimed) {
    keep(AuditLevel::all);
    make_workflow("quiet");
    const RunId loud = trigger();
    const RunId quiet = trigger("quiet");
    seam::ClaimRequest both;
    both.queues = {store().workflow_info("job").queue, store().workflow_info("quiet").queue};
    both.max_messages = 10;
    both.work = seam::Work::runs;
    EXPECT_EQ(detail::Access::backend(store())->claim(both).messages.size(), 2U);
    advance(31s);
    EXPECT_EQ(detail::Access::backend(store())->claim(both).messages.size(), 2U);
    EXPECT_EQ(event_kinds(loud), "triggered,started,lease_lost,started");
    EXPECT_EQ(event_kinds(quiet), "lease_lost");
}

TEST_P(AuditTest, a_run_created_by_a_retry_or_a_fork_is_an_event) {
    keep(AuditLevel::all);
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "a", 1));
    store().cancel(held.id(), "enough");
    EXPECT_EQ(event_kinds(store().retry(held.id()).id()), "triggered");
    EXPECT_EQ(event_kinds(store().fork(held.id(), "a").id()), "triggered");
}

TEST_P(AuditTest, a_second_trigger_with_the_same_key_is_not_an_event) {
    keep(AuditLevel::all);
    TriggerOptions keyed;
    keyed.idempotency_key = "k";
    const RunId run = trigger("job", {}, keyed);
    EXPECT_EQ(trigger("job", {}, keyed), run);
    EXPECT_EQ(event_kinds(run), "triggered");
}

TEST_P(AuditTest, the_end_of_a_called_run_is_an_event_of_the_step) {
    keep(AuditLevel::all);
    make_workflow("child");
    const RunId good = trigger("job", Json{"1"});
    const RunId bad = trigger("job", Json{"0"});
    auto made =
        worker("w")
            .handle("job", [](Context& ctx, int n) { ctx.call("c", workflow("child").trigger(n)); })
            .handle(
                "child",
                [](Context&, int n) {
                    if (n == 0) throw PermanentError("no");
                }
            )
            .share_threads(shares_threads())
            .create(store());
    drain_with(made);
    EXPECT_EQ(
        event_kinds(good), "triggered,started,suspended,step_succeeded,started,run_succeeded"
    );
    EXPECT_EQ(event_kinds(bad), "triggered,started,suspended,step_failed,started,run_failed");
    EXPECT_EQ(error_in(event(bad, "step_failed").data).step, "c");
}

TEST_P(AuditTest, a_failed_call_is_an_event_by_default_and_a_successful_one_is_not) {
    keep(AuditLevel::exceptions);
    make_workflow("child");
    const RunId good = trigger("job", Json{"1"});
    const RunId bad = trigger("job", Json{"0"});
    auto made =
        worker("w")
            .handle("job", [](Context& ctx, int n) { ctx.call("c", workflow("child").trigger(n)); })
            .handle(
                "child",
                [](Context&, int n) {
                    if (n == 0) throw PermanentError("no");
                }
            )
            .share_threads(shares_threads())
            .create(store());
    drain_with(made);
    EXPECT_EQ(event_kinds(good), "");
    EXPECT_EQ(event_kinds(bad), "step_failed,run_failed");
}

TEST_P(AuditTest, level_off_keeps_no_events) {
    make_workflow("job", {.max_attempts = 2, .audit = AuditLevel::off});
    const RunId run = trigger();
    (void)claim_one();
    advance(31s);
    auto made = worker_for([](Context& ctx) {
        ctx.step("ok", [] {});
        try {
            ctx.step("bad", [] { throw PermanentError("no"); });
        } catch (const StepError&) {
        }
        ctx.pause("ask", "a person");
    });
    drain_with(made);
    store().wake(run);
    store().resume(run, "ask");
    store().cancel(run, "enough");
    (void)store().retry(run);
    (void)store().fork(run, "ok");
    store().delete_run(run, "old");
    EXPECT_EQ(count(Rows::events), 0);
}

TEST_P(AuditTest, a_write_that_is_fenced_off_leaves_no_event) {
    keep(AuditLevel::all);
    const Held late = trigger_and_claim();
    advance(31s);
    const Held now = claim_one();
    EXPECT_EQ(commit(told(late.lease(), "a", 1)), WriteStatus::lease_lost);
    EXPECT_EQ(event_kinds(late.id()), "triggered,started,lease_lost,started");
    EXPECT_EQ(commit(told(now.lease(), "a", 1)), WriteStatus::done);
    EXPECT_EQ(event_kinds(late.id()), "triggered,started,lease_lost,started,step_succeeded");
}

TEST_P(AuditTest, a_write_that_the_database_refuses_leaves_no_event) {
    keep(AuditLevel::all);
    const Held bad = trigger_and_claim();
    const Held good = trigger_and_claim();
    kit().refuse_steps_of(bad.id());
    EXPECT_EQ(
        commit_all({told(bad.lease(), "a", 1), told(good.lease(), "a", 1)}),
        (std::vector{WriteStatus::rejected, WriteStatus::done})
    );
    EXPECT_EQ(event_kinds(bad.id()), "triggered,started");
    EXPECT_EQ(event_kinds(good.id()), "triggered,started,step_succeeded");
}

TEST_P(AuditTest, a_repeated_commit_adds_the_events_of_its_steps_once) {
    keep(AuditLevel::all);
    const Held held = trigger_and_claim();
    const std::vector<Write> batch{told(held.lease(), "a", 1), told(held.lease(), "b", 2)};
    commit_all(batch);
    commit_all(batch, Attempt::repeated);
    EXPECT_EQ(event_kinds(held.id()), "triggered,started,step_succeeded,step_succeeded");
}

TEST_P(AuditTest, a_step_that_already_has_its_result_is_not_an_event_again) {
    keep(AuditLevel::all);
    const Held held = trigger_and_claim();
    commit(pause_step(held.lease(), "ask", 1, 1min));
    advance(1min);
    const Held again = claim_one();
    store().resume(held.id(), "ask", 5);  // while its body is executed again
    commit(told(again.lease(), "ask", 1));
    EXPECT_EQ(step(held.id(), "ask").output, Json{"5"});
    EXPECT_FALSE(has_event(held.id(), "step_succeeded"));
}

}  // namespace
}  // namespace pawl::test
