// Events of runs: ctx.publish, and automatic events.
#include <pawl/json.h>

#include "seam/outbox_record.h"
#include "support/outbox_test.h"

namespace pawl::test {
namespace {

class RunPublishTest : public OutboxStoreTest {
protected:
    [[nodiscard]] std::string of_run(RunId run) const { return listed({.run = run}); }
    static std::string aggregate_of(RunId run) { return fmt::format("run:{}", run.value()); }
    [[nodiscard]] nlohmann::json payload(RunId run, const std::string& type) const {
        const auto found = store().outbox({.type = type, .run = run});
        if (found.size() != 1) throw std::runtime_error(fmt::format("{} {}", found.size(), type));
        EXPECT_EQ(found.front().aggregate, aggregate_of(run));
        EXPECT_EQ(found.front().subject, aggregate_of(run));
        EXPECT_EQ(found.front().event_id.size(), 36U);
        return nlohmann::json::parse(found.front().payload.text);
    }
    static Write publishing(const Lease& lease, const std::string& type, int position) {
        Write write = checkpoint(lease, "publish:" + type, position);
        write.as<Checkpoint>().publish =
            seam::new_outbox_record({type, Json{"1"}, "x"}, 1000, RunId(lease.message.value()));
        return write;
    }
    WorkerId register_worker(const std::string& handler) const {
        seam::NewWorker worker;
        worker.name = "w";
        worker.host = "here";
        worker.lease = 30s;
        worker.handlers = {handler};
        return detail::Access::backend(store())->register_worker(worker);
    }
};
PAWL_FOR_EACH_BACKEND(RunPublishTest);

TEST_P(RunPublishTest, a_publish_is_a_step_with_the_event_and_its_id) {
    make_workflow();
    auto mine = worker_for([](Context& ctx) {
        ctx.publish("order.made", nlohmann::json{{"n", 1}}, "order-1");
        ctx.publish("order.made", Json{"2"});
    });
    const RunId run = trigger();
    mine.poll_once();
    ASSERT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(
        step_ids(run), (std::vector<std::string>{"publish:order.made", "publish:order.made#2"})
    );
    const auto events = store().outbox({.run = run});
    ASSERT_EQ(events.size(), 2U);
    EXPECT_EQ(events[0].aggregate, "order-1");
    EXPECT_EQ(events[0].subject, "order-1");
    EXPECT_EQ(events[0].payload, Json{R"({"n":1})"});
    EXPECT_EQ(events[1].aggregate, aggregate_of(run));
    EXPECT_EQ(step(run, "publish:order.made").output, Json{"\"" + events[0].event_id + "\""});
}

TEST_P(RunPublishTest, a_replay_does_not_publish_twice) {
    make_workflow("job", {.backoff_base = 1ms});
    int calls = 0;
    auto mine = worker_for([&](Context& ctx) {
        ++calls;
        ctx.publish("before", Json{"1"});
        ctx.step("shaky", [&] {
            if (calls == 1) throw std::runtime_error("once");
        });
        ctx.publish("after", Json{"2"});
    });
    const RunId run = trigger();
    mine.poll_once();
    EXPECT_EQ(of_run(run), "before");
    advance(1s);
    mine.poll_once();
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(of_run(run), "before after");
}

TEST_P(RunPublishTest, an_invalid_event_throws_and_publishes_nothing) {
    make_workflow("job", {.max_attempts = 1});
    ErrorCode code{};
    ErrorCode too_long{};
    auto mine = worker_for([&](Context& ctx) {
        code = error_of([&] { ctx.publish("", Json{"1"}); }).code();
        too_long = error_of([&] { ctx.publish(std::string(250, 'x'), Json{"1"}); }).code();
    });
    const RunId run = trigger();
    mine.poll_once();
    EXPECT_EQ(code, ErrorCode::invalid_argument);
    EXPECT_EQ(too_long, ErrorCode::invalid_argument) << "it names a step too";
    EXPECT_EQ(of_run(run), "");
}

TEST_P(RunPublishTest, a_publish_inside_a_body_is_refused) {
    make_workflow("job", {.max_attempts = 1});
    auto mine = worker_for([&](Context& ctx) {
        ctx.step("body", [&] { ctx.publish("inside", Json{"1"}); });
    });
    const RunId run = trigger();
    mine.poll_once();
    EXPECT_EQ(error_in(info(run).error).type, "context_misuse");
    EXPECT_EQ(of_run(run), "");
}

TEST_P(RunPublishTest, a_commit_that_is_repeated_in_doubt_publishes_once) {
    make_workflow();
    const Held held = trigger_and_claim();
    const Write write = publishing(held.lease(), "made", 1);
    EXPECT_EQ(commit(write), WriteStatus::done);
    EXPECT_EQ(commit(write, Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(of_run(held.id()), "made");
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::done);
    EXPECT_EQ(commit(write, Attempt::repeated), WriteStatus::done) << "the run has gone on since";
    EXPECT_EQ(of_run(held.id()), "made");
}

TEST_P(RunPublishTest, a_worker_that_has_lost_the_lease_publishes_nothing) {
    make_workflow();
    const Held held = trigger_and_claim();
    advance(31s);
    const Held again = claim_one();
    EXPECT_EQ(commit(publishing(held.lease(), "late", 1)), WriteStatus::lease_lost);
    EXPECT_EQ(of_run(held.id()), "");
    EXPECT_EQ(commit(publishing(again.lease(), "good", 1)), WriteStatus::done);
    EXPECT_EQ(of_run(held.id()), "good");
    store().cancel(held.id(), "enough");
    EXPECT_EQ(commit(publishing(again.lease(), "later", 2)), WriteStatus::cancelled);
    EXPECT_EQ(of_run(held.id()), "good");
}

TEST_P(RunPublishTest, in_a_batch_each_event_goes_with_its_own_step) {
    make_workflow();
    (void)trigger_many(3);
    const auto held = claim_many(3);
    store().cancel(held[1].id(), "enough");
    std::vector<Write> writes;
    for (const Held& one : held) {
        writes.push_back(checkpoint(one.lease(), "plain", 1));
        writes.push_back(publishing(one.lease(), "made", 2));
    }
    const auto statuses = commit_all(writes);
    EXPECT_EQ(statuses[1], WriteStatus::done);
    EXPECT_EQ(statuses[3], WriteStatus::cancelled);
    EXPECT_EQ(statuses[5], WriteStatus::done);
    EXPECT_EQ(of_run(held[0].id()), "made");
    EXPECT_EQ(of_run(held[1].id()), "");
    EXPECT_EQ(of_run(held[2].id()), "made");
}

TEST_P(RunPublishTest, the_level_is_stored_listed_and_changed) {
    EXPECT_EQ(make_workflow().publish, PublishLevel::off);
    EXPECT_EQ(make_workflow("job", {.publish = PublishLevel::ends}).publish, PublishLevel::ends);
    EXPECT_EQ(make_workflow("job", {.max_attempts = 7}).publish, PublishLevel::ends);
    EXPECT_EQ(make_workflow("job", {.publish = PublishLevel::off}).publish, PublishLevel::off);
    EXPECT_EQ(
        make_workflow("new", {.publish = PublishLevel::alerts}).publish, PublishLevel::alerts
    );
}

TEST_P(RunPublishTest, ends_are_published_with_their_output_or_error) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const Held good = trigger_and_claim();
    EXPECT_EQ(commit(success(good.lease(), R"({"n":1})")), WriteStatus::done);
    EXPECT_EQ(of_run(good.id()), "run.succeeded");
    EXPECT_EQ(
        payload(good.id(), "run.succeeded"),
        (nlohmann::json{
            {"run_id", good.id().value()},
            {"workflow", "job"},
            {"status", "SUCCESS"},
            {"output", {{"n", 1}}}})
    );
    const Held bad = trigger_and_claim();
    commit(failure(bad.lease(), "no luck"));
    EXPECT_EQ(of_run(bad.id()), "run.failed");
    const auto failed = payload(bad.id(), "run.failed");
    EXPECT_EQ(failed["status"], "ERROR");
    EXPECT_EQ(failed["error"]["message"], "no luck");
    EXPECT_FALSE(failed.contains("output"));
}

TEST_P(RunPublishTest, a_flow_without_steps_publishes_its_end_like_others) {
    store().create_flow("empty");
    make_workflow("empty", {.audit = AuditLevel::all, .publish = PublishLevel::ends});
    const RunId run = trigger("empty");
    EXPECT_EQ(of_run(run), "run.succeeded");
    EXPECT_EQ(payload(run, "run.succeeded")["output"], nlohmann::json::object());
    EXPECT_EQ(event_kinds(run), "triggered,run_succeeded");
}

TEST_P(RunPublishTest, an_end_that_is_repeated_in_doubt_or_fenced_off_is_published_once) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const Held held = trigger_and_claim();
    advance(31s);
    const Held again = claim_one();
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::lease_lost);
    EXPECT_EQ(of_run(held.id()), "");
    EXPECT_EQ(commit(success(again.lease())), WriteStatus::done);
    EXPECT_EQ(commit(success(again.lease()), Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(of_run(held.id()), "run.succeeded");
}

TEST_P(RunPublishTest, cancelling_and_deleting_a_live_run_are_published) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const RunId cancelled = trigger();
    store().cancel(cancelled, "not needed");
    EXPECT_EQ(of_run(cancelled), "run.cancelled");
    EXPECT_EQ(payload(cancelled, "run.cancelled")["error"]["message"], "not needed");
    const RunId deleted = trigger();
    store().delete_run(deleted, "a mistake");
    EXPECT_EQ(of_run(deleted), "run.cancelled");
    const Held done = trigger_and_claim();
    commit(success(done.lease()));
    store().delete_run(done.id(), "old");
    EXPECT_EQ(of_run(done.id()), "run.succeeded");
}

TEST_P(RunPublishTest, a_pause_is_published_when_it_begins_and_not_at_its_checks) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const Held held = trigger_and_claim();
    Write pause = pause_step(held.lease(), "approval", 1, 1h);
    pause.as<Suspend>().step->pause_message = "who approves?";
    EXPECT_EQ(commit(pause), WriteStatus::done);
    EXPECT_EQ(of_run(held.id()), "run.paused");
    const auto told = payload(held.id(), "run.paused");
    EXPECT_EQ(told["status"], "PAUSED");
    EXPECT_EQ(told["message"], "who approves?");
    advance(1h);
    const Held check = claim_one();
    commit(pause_step(check.lease(), "approval", 1, 1h));
    EXPECT_EQ(of_run(held.id()), "run.paused");
    store().resume(held.id(), "approval", Json{"true"});
    const Held resumed = claim_one();
    commit(pause_step(resumed.lease(), "second", 2, 1h));
    EXPECT_EQ(of_run(held.id()), "run.paused run.paused") << "another pause";
}

TEST_P(RunPublishTest, sleeps_retries_and_resumed_pauses_are_not_published) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const Held held = trigger_and_claim();
    commit(sleep_step(held.lease(), "sleep", 1, 1s));
    advance(1s);
    const Held awake = claim_one();
    commit(retry_step(awake.lease(), "shaky", 2, 1, 1s));
    advance(1s);
    const Held again = claim_one();
    store().resume(again.id(), "approval", Json{"true"}, {.early = true});
    commit(pause_step(again.lease(), "approval", 3, 1h));
    EXPECT_EQ(of_run(held.id()), "");
}

TEST_P(RunPublishTest, a_pause_outside_of_steps_is_published_once_for_each_reason) {
    make_workflow("job", {.publish = PublishLevel::ends});
    std::string reason = "no paper";
    auto mine = worker_for([&](Context&) { throw PauseError(reason, 1min); });
    const RunId run = trigger();
    for (int i = 0; i < 3; ++i) {
        mine.poll_once();
        advance(1min);
    }
    EXPECT_EQ(of_run(run), "run.paused");
    EXPECT_EQ(payload(run, "run.paused")["message"], "no paper");
    reason = "no ink";
    mine.poll_once();
    EXPECT_EQ(of_run(run), "run.paused run.paused");
}

TEST_P(RunPublishTest, poison_is_an_alert) {
    for (const auto level : {PublishLevel::alerts, PublishLevel::ends}) {
        const std::string name(to_string(level));
        make_workflow(name, {.max_strikes = 1, .publish = level});
        const Held held = trigger_and_claim(name);
        advance(31s);
        EXPECT_TRUE(claim(1, name).messages.empty());
        ASSERT_EQ(status(held.id()), RunStatus::error);
        EXPECT_EQ(
            of_run(held.id()), level == PublishLevel::ends ? "run.failed run.poison" : "run.poison"
        );
        EXPECT_EQ(payload(held.id(), "run.poison")["error"]["type"], "poison");
    }
}

TEST_P(RunPublishTest, no_handler_and_dead_letters_are_alerts) {
    make_workflow("graves");
    make_workflow("job", {.dead_letter_workflow = "graves", .publish = PublishLevel::alerts});
    register_worker("graves");
    const RunId lost = trigger();
    const std::vector<std::string> prefixes{"job"};
    EXPECT_EQ(detail::Access::backend(store())->fail_unhandled(prefixes), std::vector{lost});
    EXPECT_EQ(of_run(lost), "run.no_handler_registered run.dead_lettered");
    const Held bad = trigger_and_claim();
    commit(failure(bad.lease()));
    EXPECT_EQ(of_run(bad.id()), "run.dead_lettered");
    const Held good = trigger_and_claim();
    commit(success(good.lease()));
    EXPECT_EQ(of_run(good.id()), "");
}

TEST_P(RunPublishTest, only_workflows_that_are_configured_to_publish_do_so) {
    make_workflow("loud", {.publish = PublishLevel::ends});
    make_workflow("quiet");
    make_workflow("alerts", {.publish = PublishLevel::alerts});
    for (const char* name : {"loud", "quiet", "alerts"}) {
        const Held held = trigger_and_claim(name);
        commit(success(held.lease()));
        EXPECT_EQ(of_run(held.id()), name == std::string("loud") ? "run.succeeded" : "");
        const RunId cancelled = trigger(name);
        store().cancel(cancelled, "x");
    }
    EXPECT_EQ(listed(), "run.succeeded run.cancelled");
}

}  // namespace
}  // namespace pawl::test
