// What retention policies remove, and what they never remove.
#include "support/retention_test.h"

#include <fmt/format.h>

#include "runtime/services/scheduler.h"

namespace pawl::test {
namespace {

class PolicyTest : public RetentionTest {
protected:
    [[nodiscard]] std::string policies() const {
        std::string all;
        for (const RetentionPolicy& policy : store().retention())
            all += fmt::format(
                "{} {} {} {}; ",
                policy.name.empty() ? "-" : policy.name,
                to_string(policy.kind),
                policy.keep.age ? policy.keep.age->count() : -1,
                policy.keep.count.value_or(-1)
            );
        return all;
    }
    void expect_refused(
        RetentionKind kind, const std::string& name, const Keep& what, const std::string& why
    ) const {
        const Error error = error_of([&] { store().set_retention(kind, name, what); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(contains(error.what(), why));
    }
};
PAWL_FOR_EACH_BACKEND(PolicyTest);

TEST_P(PolicyTest, at_first_soft_deleted_runs_and_workers_have_a_policy) {
    EXPECT_EQ(policies(), "- deleted 604800000 -1; - workers 604800000 -1; ");
}

TEST_P(PolicyTest, a_policy_is_set_replaced_and_taken_back) {
    make_queue("mail");
    keep(RetentionKind::success, "job", {.age = 1s});
    keep(RetentionKind::archive, "mail", {.age = 2s, .count = 3});
    store().set_retention(RetentionKind::outbox, {.count = 0});
    store().set_retention(RetentionKind::deleted, {});
    store().clear_retention(RetentionKind::workers);
    EXPECT_EQ(policies(), "- outbox -1 0; job success 1000 -1; mail archive 2000 3; ");
    keep(RetentionKind::success, "job", {.count = 7});
    keep(RetentionKind::archive, "mail", {});
    EXPECT_EQ(policies(), "- outbox -1 0; job success -1 7; mail archive -1 -1; ");
    store().clear_retention(RetentionKind::archive, "mail");
    EXPECT_EQ(policies(), "- outbox -1 0; job success -1 7; ");
}

TEST_P(PolicyTest, a_policy_for_all_is_one_line) {
    make_workflow("other");
    make_queue("mail");
    keep(RetentionKind::success, all_names, {.age = 1s});
    keep(RetentionKind::archive, all_names, {.count = 5});
    keep(RetentionKind::success, "other", {});
    (void)store().prune();
    EXPECT_EQ(
        policies(),
        "- deleted 604800000 -1; - workers 604800000 -1; * archive -1 5; * success 1000 -1; other "
        "success -1 -1; "
    );
    keep(RetentionKind::success, all_names, {});
    store().clear_retention(RetentionKind::archive, all_names);
    store().clear_retention(RetentionKind::success, "other");
    EXPECT_EQ(policies(), "- deleted 604800000 -1; - workers 604800000 -1; ");
    expect_refused(RetentionKind::outbox, all_names, {.age = 1s}, "applies to the whole store");
    EXPECT_EQ(
        error_of([&] { store().clear_retention(RetentionKind::success); }).code(),
        ErrorCode::invalid_argument
    );
}

TEST_P(PolicyTest, it_goes_with_its_workflow_or_queue) {
    make_queue("mail");
    keep(RetentionKind::success, "job", {.age = 1s});
    keep(RetentionKind::archive, "mail", {.age = 2s});
    store().delete_workflow("job");
    store().delete_queue("mail");
    EXPECT_EQ(policies(), "- deleted 604800000 -1; - workers 604800000 -1; ");
}

TEST_P(PolicyTest, bad_values_are_refused_and_change_nothing) {
    using enum RetentionKind;
    make_queue("mail");
    const std::string before = policies();
    expect_refused(success, "", {.age = 1s}, "applies to one workflow; name it");
    expect_refused(archive, "", {.age = 1s}, "applies to one queue; name it");
    expect_refused(outbox, "job", {.age = 1s}, "applies to the whole store");
    expect_refused(success, "job", {.age = -1s}, "age must be 0 to 100 years");
    expect_refused(success, "job", {.age = 40'000 * one_day}, "age must be 0 to 100 years");
    expect_refused(success, "job", {.count = -1}, "count must be 0 to 1000000");
    expect_refused(success, "job", {.count = 1'000'001}, "count must be 0 to 1000000");
    for (const auto kind : {deleted, workers})
        expect_refused(kind, "", {.count = 1}, "is by age only");
    expect_refused(events, "job", {.count = 1}, "is by age only");
    const auto code = [&](RetentionKind kind, const std::string& name) {
        return error_of([&] { keep(kind, name, {.age = 1s}); }).code();
    };
    EXPECT_EQ(code(success, "missing"), ErrorCode::workflow_not_found);
    EXPECT_EQ(code(success, "mail"), ErrorCode::workflow_not_found);
    EXPECT_EQ(code(archive, "missing"), ErrorCode::queue_not_found);
    EXPECT_EQ(code(archive, "job"), ErrorCode::workflow_queue);
    EXPECT_EQ(policies(), before);
    for (const PruneOptions& wrong :
         {PruneOptions{.batch_rows = 0},
          PruneOptions{.batch_rows = 10'001},
          PruneOptions{.share = 0},
          PruneOptions{.share = 101}})
        EXPECT_EQ(error_of([&] { store().prune(wrong); }).code(), ErrorCode::invalid_argument);
}

class PruneRulesTest : public RetentionTest {
protected:
    void look_for_schedules() const {
        runtime::Scheduler(*detail::Access::backend(store())).fire_due();
    }
};
PAWL_FOR_EACH_BACKEND(PruneRulesTest);

TEST_P(PruneRulesTest, without_a_policy_nothing_goes) {
    const RunId run = succeed();
    advance(1000 * one_day);
    EXPECT_EQ(prune(), Counts());
    EXPECT_TRUE(exists(run));
}

TEST_P(PruneRulesTest, a_policy_for_all_applies_to_names_without_their_own_policy) {
    make_workflow("other");
    make_workflow("kept");
    make_queue("mail");
    keep(RetentionKind::success, all_names, {.age = 10 * one_day});
    keep(RetentionKind::archive, all_names, {.count = 1});
    keep(RetentionKind::success, "other", {.age = 100 * one_day});
    keep(RetentionKind::success, "kept", {});
    const std::vector<RunId> runs{succeed(), succeed("other"), succeed("kept"), fail_run()};
    const Queue mail = store().queue("mail");
    enqueue_many(mail, 3);
    mail.archive(leases(take(mail, 3)));
    advance(11 * one_day);
    EXPECT_EQ(prune(), (Counts{{"success", 1}, {"archive", 2}}));
    EXPECT_EQ(existing(runs), "0 1 1 1");
    make_workflow("late");
    const RunId late = succeed("late");
    advance(100 * one_day);
    EXPECT_EQ(prune(), (Counts{{"success", 2}})) << "a workflow that came later, and the long one";
    EXPECT_FALSE(exists(late));
    EXPECT_EQ(existing(runs), "0 0 1 1");
    store().clear_retention(RetentionKind::success, "kept");
    EXPECT_EQ(prune(), (Counts{{"success", 1}})) << "now the policy for all holds for it too";
    keep(RetentionKind::success, all_names, {});
    const RunId last = succeed();
    advance(1000 * one_day);
    EXPECT_EQ(prune(), Counts()) << "it was taken back";
    EXPECT_TRUE(exists(last));
}

TEST_P(PruneRulesTest, events_go_by_a_policy_for_all_in_every_workflow) {
    make_workflow("other");
    keep(RetentionKind::events, all_names, {.age = 10 * one_day});
    const std::vector<RunId> runs{succeed(), succeed("other")};
    for (const RunId run : runs) add_events(run, 2);
    advance(11 * one_day);
    EXPECT_EQ(prune(), (Counts{{"events", 4}}));
    const RunId late = succeed("other");
    add_events(late, 3);
    advance(11 * one_day);
    EXPECT_EQ(prune(), (Counts{{"events", 3}}));
    EXPECT_EQ(existing(runs), "1 1");
}

TEST_P(PruneRulesTest, stopped_and_lost_workers_go_after_a_week) {
    const WorkerId stopped =
        detail::Access::backend(store())->register_worker({"a", "h", 0, 1, 30s, {}, {}});
    store().transition_worker(stopped, WorkerEvent::stop);
    (void)detail::Access::backend(store())->register_worker({"b", "h", 0, 1, 30s, {}, {}});
    advance(6 * one_day);
    EXPECT_EQ(prune(), Counts());
    advance(2 * one_day);
    (void)detail::Access::backend(store())->register_worker({"c", "h", 0, 1, 30s, {}, {}});
    EXPECT_EQ(prune(), (Counts{{"workers", 2}}));
    ASSERT_EQ(store().workers().size(), 1U);
    EXPECT_EQ(store().workers().front().name, "c");
}

TEST_P(PruneRulesTest, successes_go_by_age_with_all_that_belongs_to_them) {
    keep(RetentionKind::success, "job", {.age = 10 * one_day});
    const RunId tagged = trigger("job", {}, {.tags = {"red"}});
    const Held held = claim_one();
    ASSERT_EQ(commit(checkpoint(held.lease(), "a", 0)), WriteStatus::done);
    store().resume(tagged, "unused", Json{}, {.early = true});
    add_events(tagged, 2);
    ASSERT_EQ(commit(success(held.lease())), WriteStatus::done);
    advance(5 * one_day);
    const RunId newer = succeed();
    advance(5 * one_day - 1ms);
    EXPECT_EQ(prune(), Counts()) << "a moment too early";
    advance(1ms);
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_EQ(existing({tagged, newer}), "0 1");
    for (const Rows rows : {Rows::steps, Rows::run_tags, Rows::signals, Rows::events})
        EXPECT_EQ(count(rows, tagged), 0) << rows;
    EXPECT_EQ(error_of([&] { (void)store().run(tagged).info(); }).code(), ErrorCode::run_not_found);
    EXPECT_EQ(prune(), Counts());
}

TEST_P(PruneRulesTest, failures_have_a_policy_of_their_own) {
    const RunId good = succeed();
    const RunId bad = fail_run();
    const RunId cancelled = trigger();
    store().cancel(cancelled, "enough");
    keep(RetentionKind::failed, "job", {.age = one_day});
    advance(one_day);
    EXPECT_EQ(prune(), (Counts{{"failed", 2}}));
    EXPECT_EQ(existing({good, bad, cancelled}), "1 0 0");
    keep(RetentionKind::failed, "job", {});
    keep(RetentionKind::success, "job", {.age = one_day});
    const RunId bad_again = fail_run();
    advance(one_day);
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_EQ(existing({good, bad_again}), "0 1");
}

TEST_P(PruneRulesTest, the_newest_stay_by_count_even_if_they_ended_at_the_same_time) {
    keep(RetentionKind::success, "job", {.count = 2});
    std::vector<RunId> runs{succeed(), succeed(), succeed()};
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_EQ(existing(runs), "0 1 1");
    advance(1s);
    runs.push_back(succeed());
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_EQ(existing(runs), "0 0 1 1");
    keep(RetentionKind::success, "job", {.count = 0});
    EXPECT_EQ(prune(), (Counts{{"success", 2}}));
}

TEST_P(PruneRulesTest, failures_go_by_count_too) {
    keep(RetentionKind::failed, "job", {.count = 1});
    const std::vector<RunId> runs{fail_run(), succeed(), fail_run()};
    EXPECT_EQ(prune(), (Counts{{"failed", 1}}));
    EXPECT_EQ(existing(runs), "0 1 1");
}

TEST_P(PruneRulesTest, with_both_limits_each_of_them_removes_rows) {
    keep(RetentionKind::success, "job", {.age = 10 * one_day, .count = 2});
    std::vector<RunId> runs{succeed(), succeed(), succeed()};
    EXPECT_EQ(prune(), (Counts{{"success", 1}})) << "by count";
    EXPECT_EQ(existing(runs), "0 1 1");
    advance(10 * one_day);
    runs.push_back(succeed());
    EXPECT_EQ(prune(), (Counts{{"success", 2}})) << "by age";
    EXPECT_EQ(existing(runs), "0 0 0 1");
}

TEST_P(PruneRulesTest, one_workflows_policy_is_not_anothers) {
    make_workflow("other");
    keep(RetentionKind::success, "job", {.age = 0s});
    const RunId mine = succeed();
    const RunId others = succeed("other");
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_EQ(existing({mine, others}), "0 1");
}

TEST_P(PruneRulesTest, live_runs_stay) {
    keep(RetentionKind::success, "job", {.age = 0s});
    keep(RetentionKind::failed, "job", {.count = 0});
    const RunId queued = trigger();
    const Held paused = claim_one();
    ASSERT_EQ(commit(pause_step(paused.lease(), "p", 0, 1h)), WriteStatus::done);
    const RunId later = trigger("job", {}, {.delay = 9000h});
    advance(1000 * one_day);
    EXPECT_EQ(prune(), Counts());
    EXPECT_EQ(existing({queued, later}), "1 1");
}

TEST_P(PruneRulesTest, only_events_are_removed_if_only_they_have_a_policy) {
    keep(RetentionKind::events, "job", {.age = one_day});
    const RunId good = succeed();
    const RunId bad = fail_run();
    const Held live = trigger_and_claim();
    ASSERT_EQ(commit(pause_step(live.lease(), "p", 0, 1000h)), WriteStatus::done);
    for (const RunId run : {good, bad, live.id()}) add_events(run, 2);
    EXPECT_EQ(prune(), Counts());
    advance(one_day);
    const RunId newer = succeed();
    add_events(newer, 3);
    EXPECT_EQ(prune(), (Counts{{"events", 4}}));
    EXPECT_TRUE(store().run(good).events().empty());
    EXPECT_TRUE(store().run(bad).events().empty());
    EXPECT_EQ(store().run(live.id()).events().size(), 2U) << "its story is not over";
    EXPECT_EQ(store().run(newer).events().size(), 3U);
    EXPECT_EQ(store().run(good).steps().size(), 1U);
    EXPECT_EQ(prune(), Counts());
    advance(one_day);
    EXPECT_EQ(prune(), (Counts{{"events", 3}}));
}

TEST_P(PruneRulesTest, events_of_runs_that_go_are_counted_once) {
    keep(RetentionKind::events, "job", {.age = 0s});
    keep(RetentionKind::success, "job", {.age = 0s});
    add_events(succeed(), 2);
    EXPECT_EQ(prune(), (Counts{{"events", 2}, {"success", 1}}));
}

TEST_P(
    PruneRulesTest,
    soft_deleted_runs_are_removed_after_their_grace_time_independent_of_their_workflow
) {
    keep(RetentionKind::success, "job", {.age = 0s});
    keep(RetentionKind::failed, "job", {.age = 0s});
    const RunId good = trigger("job", {}, {.idempotency_key = "k"});
    const RunId live = trigger();
    store().delete_run(good, "oops");
    store().delete_run(live, "oops");
    advance(7 * one_day - 1ms);
    EXPECT_EQ(prune(), Counts());
    EXPECT_EQ(existing({good, live}), "1 1");
    advance(1ms);
    EXPECT_EQ(prune(), (Counts{{"deleted", 2}}));
    EXPECT_EQ(existing({good, live}), "0 0");
    const RunId kept = trigger();
    store().delete_run(kept, "oops");
    store().set_retention(RetentionKind::deleted, {});
    advance(1000 * one_day);
    EXPECT_EQ(prune(), Counts());
    store().set_retention(RetentionKind::deleted, {.age = 1s});
    EXPECT_EQ(prune(), (Counts{{"deleted", 1}}));
}

TEST_P(PruneRulesTest, the_archive_and_the_dead_letters_have_a_policy_each) {
    const Queue queue = make_queue("mail", {.max_attempts = 1});
    const Queue other = make_queue("other");
    enqueue_many(queue, 5);
    enqueue_many(other, 1);
    for (const Message& message : take(queue, 3)) ASSERT_EQ(queue.archive(message), Outcome::done);
    for (const Message& message : take(queue, 2))
        ASSERT_EQ(queue.fail(message, "no", 1s), Outcome::done);
    ASSERT_EQ(other.archive(take_one(other)), Outcome::done);
    keep(RetentionKind::archive, "mail", {.age = one_day, .count = 2});
    EXPECT_EQ(prune(), (Counts{{"archive", 1}}));
    keep(RetentionKind::dead_letters, "mail", {.count = 1});
    advance(one_day);
    EXPECT_EQ(prune(), (Counts{{"archive", 2}, {"dead-letters", 1}}));
    EXPECT_EQ(queue.stats().archived, 0);
    EXPECT_EQ(queue.stats().dead, 1);
    EXPECT_EQ(other.stats().archived, 1);
    keep(RetentionKind::dead_letters, "mail", {.age = one_day});
    EXPECT_EQ(prune(), (Counts{{"dead-letters", 1}}));
}

TEST_P(PruneRulesTest, published_events_go_pending_and_parked_ones_never) {
    store().set_retention(RetentionKind::outbox, {.age = one_day});
    for (const char* type : {"sent", "parked", "sent"}) store().publish({type, Json{"1"}});
    dispatcher(store(), [](const OutboxEvent& event) {
        return event.type == "sent" ? SinkResult{}
                                    : SinkResult{SinkResult::Kind::reject, "never", {}};
    }).dispatch_once();
    store().publish({"pending", Json{"1"}});
    EXPECT_EQ(prune(), Counts());
    advance(one_day);
    EXPECT_EQ(prune(), (Counts{{"outbox", 2}}));
    ASSERT_EQ(store().outbox().size(), 2U);
    EXPECT_EQ(store().outbox()[0].type, "parked");
    EXPECT_EQ(store().outbox()[1].type, "pending");
}

TEST_P(PruneRulesTest, events_that_a_run_has_published_outlive_it) {
    make_workflow("teller", {.publish = PublishLevel::ends});
    keep(RetentionKind::success, "teller", {.age = 0s});
    (void)succeed("teller");
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    ASSERT_EQ(store().outbox().size(), 1U);
    EXPECT_EQ(store().outbox()[0].status, OutboxStatus::pending);
}

TEST_P(PruneRulesTest, stopped_and_lost_workers_are_forgotten_living_ones_not) {
    store().set_retention(RetentionKind::workers, {.age = 1min});
    auto& backend = *detail::Access::backend(store());
    const auto register_worker = [&](const char* name) {
        return backend.register_worker({name, "host", 0, 1, 30s, {}, {}});
    };
    const WorkerId stopped = register_worker("stopped");
    backend.transition_worker(stopped, WorkerEvent::stop);
    register_worker("lost");
    advance(1min);
    const WorkerId living = register_worker("living");
    EXPECT_EQ(prune(), (Counts{{"workers", 2}}));
    ASSERT_EQ(store().workers().size(), 1U);
    EXPECT_EQ(store().workers()[0].id, living);
}

TEST_P(PruneRulesTest, a_flows_runs_go_with_their_tasks) {
    diamond().create(store());
    keep(RetentionKind::success, "flow", {.age = 0s});
    keep(RetentionKind::failed, "flow", {.age = 0s});
    const RunId done = start_flow();
    drain();
    const RunId cancelled = start_flow();
    work_step("a");
    store().cancel(cancelled, "enough");
    const RunId live = start_flow();
    EXPECT_EQ(prune(), (Counts{{"success", 1}, {"failed", 1}}));
    EXPECT_EQ(existing({done, cancelled, live}), "0 0 1");
    EXPECT_EQ(count(Rows::tasks), count(Rows::tasks, live));
    EXPECT_EQ(count(Rows::steps), count(Rows::steps, live));
    EXPECT_EQ(drain(), 4) << "the live run continues";
}

TEST_P(PruneRulesTest, runs_started_by_a_live_run_stay_until_it_ends) {
    make_workflow("child");
    keep(RetentionKind::success, "child", {.age = 0s});
    const Held parent = trigger_and_claim();
    const RunId child = trigger("child", {}, {.parent = parent.id()});
    ASSERT_EQ(commit(success(claim_one("child").lease())), WriteStatus::done);
    EXPECT_EQ(prune(), Counts());
    EXPECT_TRUE(exists(child));
    ASSERT_EQ(commit(success(parent.lease())), WriteStatus::done);
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_FALSE(exists(child));
    EXPECT_TRUE(exists(parent.id()));
}

TEST_P(PruneRulesTest, a_called_run_goes_after_its_caller_has_ended) {
    make_workflow("child");
    keep(RetentionKind::success, "child", {.age = 0s});
    auto worker =
        pawl::worker("w")
            .handle("job", [](Context& ctx) { ctx.call("c", workflow("child").trigger()); })
            .handle("child", [](Context&) {})
            .share_threads(shares_threads())
            .housekeeping(false)
            .create(store());
    const RunId caller = trigger();
    ASSERT_EQ(worker.poll_once(), 1);  // waits for the child
    EXPECT_EQ(prune(), Counts());
    ASSERT_EQ(worker.poll_once(), 1);  // the child
    EXPECT_EQ(prune(), Counts()) << "its caller has not gone on";
    while (worker.poll_once() > 0) continue;
    EXPECT_EQ(status(caller), RunStatus::success);
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
}

TEST_P(PruneRulesTest, the_key_of_a_pruned_run_is_free) {
    keep(RetentionKind::success, "job", {.age = 0s});
    const RunId first = trigger("job", {}, {.idempotency_key = "k"});
    ASSERT_EQ(commit(success(claim_one().lease())), WriteStatus::done);
    EXPECT_EQ(trigger("job", {}, {.idempotency_key = "k"}), first);
    EXPECT_EQ(prune(), (Counts{{"success", 1}}));
    EXPECT_NE(trigger("job", {}, {.idempotency_key = "k"}), first);
}

TEST_P(PruneRulesTest, a_retry_outlives_what_it_is_a_retry_of) {
    keep(RetentionKind::failed, "job", {.age = 0s});
    const RunId origin = fail_run();
    const RunId retry = store().retry(origin).id();
    EXPECT_EQ(prune(), (Counts{{"failed", 1}}));
    EXPECT_FALSE(exists(origin));
    ASSERT_EQ(store().run(retry).lineage().size(), 1U);
    ASSERT_EQ(commit(success(claim_one().lease())), WriteStatus::done);
    EXPECT_EQ(status(retry), RunStatus::success);
    EXPECT_EQ(error_of([&] { store().retry(origin); }).code(), ErrorCode::run_not_found);
}

TEST_P(PruneRulesTest, a_schedule_continues_without_its_last_run) {
    keep(RetentionKind::success, "job", {.age = 0s});
    for (const Overlap overlap : {Overlap::skip, Overlap::queue_one}) {
        store().create_schedule("s", "job", "@every 10s", Json{"1"}, {.overlap = overlap});
        for (int fires = 0; fires < 2; ++fires) {
            advance(10s);
            look_for_schedules();
            ASSERT_EQ(commit(success(claim_one().lease())), WriteStatus::done);
            EXPECT_EQ(prune(), (Counts{{"success", 1}}));
        }
    }
}

}  // namespace
}  // namespace pawl::test
