// Claims of runs: they start runs, return input and recorded steps, and detect poison by progress.
#include "model/rules.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RunClaimTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    static std::vector<std::string> ids_of(const std::vector<seam::ReplayStep>& steps) {
        std::vector<std::string> ids;
        for (const auto& step : steps) ids.push_back(step.id);
        return ids;
    }
};
PAWL_FOR_EACH_BACKEND(RunClaimTest);

TEST_P(RunClaimTest, the_first_claim_starts_the_run) {
    make_workflow();
    const RunId run = trigger("job", Json{R"({"n":1})"}, {.max_attempts = 4});
    advance(5s);
    const Held held = claim_one("job", WorkerId(12));
    EXPECT_EQ(held.id(), run);
    EXPECT_EQ(held.message.payload.text, R"({"n":1})");
    EXPECT_EQ(held.message.delivery, 1);
    EXPECT_EQ(held.run.max_attempts, 4);
    EXPECT_EQ(held.run.started_at, start + 5s);
    EXPECT_TRUE(held.run.steps_loaded);
    EXPECT_TRUE(held.run.steps.empty());
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::running);
    EXPECT_EQ(seen.started_at, start + 5s);
    EXPECT_EQ(seen.updated_at, start + 5s);
    EXPECT_EQ(seen.worker, WorkerId(12));
    EXPECT_EQ(seen.delivery, 1);
    EXPECT_EQ(seen.strikes, 1);
    EXPECT_EQ(seen.visible_at, start + 35s) << "the end of the lease";
}

TEST_P(RunClaimTest, plain_messages_and_runs_come_in_one_claim) {
    make_workflow();
    const Queue plain = make_queue("plain");
    const MessageId message = plain.enqueue(Json{"\"m\""});
    const RunId run = trigger("job", Json{"\"r\""});
    seam::ClaimRequest request;
    request.queues = {plain.info().id, store().queue("job").info().id};
    request.max_messages = 10;
    request.work = seam::Work::runs;
    const seam::Claim got = detail::Access::backend(store())->claim(request);
    ASSERT_EQ(got.messages.size(), 2U);
    ASSERT_EQ(got.runs.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i) {
        const bool is_run = got.messages[i].id == MessageId(run.value());
        EXPECT_EQ(got.runs[i].has_value(), is_run);
        EXPECT_EQ(got.messages[i].payload.text, is_run ? "\"r\"" : "\"m\"");
        EXPECT_EQ(got.messages[i].id == message, !is_run);
    }
}

TEST_P(RunClaimTest, a_claim_that_does_not_ask_for_runs_starts_none) {
    make_workflow();
    const RunId run = trigger("job", Json{"5"});
    seam::ClaimRequest request;
    request.queues = {store().queue("job").info().id};
    const seam::Claim got = detail::Access::backend(store())->claim(request);
    EXPECT_EQ(got.messages.size(), 1U);
    EXPECT_TRUE(got.runs.empty());
    EXPECT_EQ(status(run), RunStatus::queued);
}

TEST_P(RunClaimTest, a_redelivery_returns_the_recorded_steps_in_order) {
    make_workflow();
    const Held first = trigger_and_claim();
    commit(checkpoint(first.lease(), "z", 1, R"({"out":1})"));
    commit(failed_step(first.lease(), "y", 2));
    commit(checkpoint(first.lease(), "a", 3, "null"));
    commit(retry_step(first.lease(), "m", 4, 2, 5s));
    advance(5s);
    const Held second = claim_one();
    EXPECT_EQ(second.message.delivery, 2);
    EXPECT_EQ(second.run.started_at, start);
    ASSERT_TRUE(second.run.steps_loaded);
    ASSERT_EQ(ids_of(second.run.steps), (std::vector<std::string>{"z", "y", "a", "m"}));
    EXPECT_EQ(second.run.steps[0].status, StepStatus::success);
    EXPECT_EQ(second.run.steps[0].output, R"({"out":1})");
    EXPECT_EQ(second.run.steps[0].position, 1);
    EXPECT_EQ(second.run.steps[0].attempt, 1);
    EXPECT_EQ(second.run.steps[1].status, StepStatus::error);
    EXPECT_EQ(model::to_run_error(Json{second.run.steps[1].error}).message, "no luck");
    EXPECT_EQ(second.run.steps[3].status, StepStatus::pending);
    EXPECT_EQ(second.run.steps[3].attempt, 2);
    EXPECT_EQ(
        ids_of(detail::Access::backend(store())->recorded_steps(first.id())),
        ids_of(second.run.steps)
    );
}

TEST_P(RunClaimTest, each_run_of_a_claim_gets_its_own_steps) {
    make_workflow();
    const auto runs = trigger_many(20);
    for (const Held& held : claim_many(20)) {
        const std::string number = held.message.payload.text;
        commit_all(
            {checkpoint(held.lease(), "a" + number, 1, number),
             checkpoint(held.lease(), "b", 2, number)}
        );
    }
    advance(31s);
    const auto again = claim_many(20);
    ASSERT_EQ(again.size(), 20U);
    for (const Held& held : again) {
        const std::string number = held.message.payload.text;
        ASSERT_EQ(ids_of(held.run.steps), (std::vector<std::string>{"a" + number, "b"}));
        EXPECT_EQ(held.run.steps[1].output, number);
    }
}

TEST_P(RunClaimTest, a_claim_returns_the_end_of_a_sleep) {
    make_workflow();
    const Held first = trigger_and_claim();
    commit(sleep_step(first.lease(), "nap", 1, 10s));
    advance(10s);
    const Held second = claim_one();
    ASSERT_EQ(second.run.steps.size(), 1U);
    EXPECT_EQ(second.run.steps[0].status, StepStatus::paused);
    EXPECT_EQ(second.run.steps[0].wake_at, start + 10s);
}

TEST_P(RunClaimTest, a_claim_has_a_budget_for_the_bytes_of_steps) {
    make_workflow();
    const auto runs = trigger_many(3);
    const std::string large = "\"" + std::string(900'000, 'x') + "\"";
    for (const Held& held : claim_many(3)) {
        for (int i = 0; i < 3; ++i)
            commit(checkpoint(held.lease(), "s" + std::to_string(i), i, large));
    }
    advance(31s);
    std::int64_t bytes = 0;
    int left_out = 0;
    for (const Held& held : claim_many(3)) {
        for (const auto& step : held.run.steps)
            bytes += static_cast<std::int64_t>(step.output.size());
        if (held.run.steps_loaded) {
            EXPECT_EQ(held.run.steps.size(), 3U);
            continue;
        }
        ++left_out;
        const auto loaded = detail::Access::backend(store())->recorded_steps(held.id());
        ASSERT_EQ(loaded.size(), 3U);
        EXPECT_EQ(loaded[2].output, large);
    }
    EXPECT_LE(bytes, model::rules::claim_step_bytes);
    EXPECT_GE(left_out, 1);
    EXPECT_LT(left_out, 3) << "what fits is brought";
}

TEST_P(RunClaimTest, a_paused_run_that_is_taken_up_is_running_again) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(pause_step(held.lease(), "ask", 1, 1min));
    EXPECT_EQ(status(held.id()), RunStatus::paused);
    advance(1min);
    EXPECT_EQ(claim_one().id(), held.id());
    EXPECT_EQ(status(held.id()), RunStatus::running);
    EXPECT_FALSE(info(held.id()).paused_at);
    EXPECT_EQ(info(held.id()).started_at, start);
}

TEST_P(RunClaimTest, progress_sets_the_strikes_back) {
    make_workflow("job", {.max_strikes = 2});
    const RunId run = trigger();
    for (int i = 1; i <= 6; ++i) {
        const Held held = claim_one();
        EXPECT_EQ(held.message.delivery, i);
        EXPECT_EQ(held.message.strikes, 1) << "delivery " << i;
        commit(checkpoint(held.lease(), "s" + std::to_string(i), i));
        advance(31s);
    }
    EXPECT_EQ(status(run), RunStatus::running);
}

TEST_P(RunClaimTest, a_step_that_only_began_is_not_progress) {
    make_workflow("job", {.max_strikes = 2});
    const RunId run = trigger();
    for (int i = 1; i <= 2; ++i) {
        const Held held = claim_one();
        EXPECT_EQ(held.message.strikes, i);
        commit(running(held.lease(), "a", 1));
        advance(31s);
    }
    EXPECT_TRUE(claim(10).messages.empty());
    EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(RunClaimTest, progress_of_an_earlier_delivery_does_not_count_again) {
    make_workflow("job", {.max_strikes = 2});
    const RunId run = trigger();
    commit(checkpoint(claim_one().lease(), "a", 1));
    advance(31s);
    EXPECT_EQ(claim_one().message.strikes, 1);
    advance(31s);
    EXPECT_EQ(claim_one().message.strikes, 2);
    advance(31s);
    EXPECT_TRUE(claim(10).messages.empty());
    EXPECT_EQ(status(run), RunStatus::error);
}

TEST_P(RunClaimTest, a_run_delivered_too_often_without_a_report_ends_as_poison) {
    make_workflow("graves");
    make_workflow("job", {.max_strikes = 2, .dead_letter_workflow = "graves"});
    const RunId run = trigger("job", Json{"7"});
    const Held first = claim_one();
    commit(checkpoint(first.lease(), "done", 1));
    commit(running(first.lease(), "open", 2));
    advance(31s);
    for (int i = 0; i < 2; ++i) {
        (void)claim_one();
        advance(31s);
    }
    EXPECT_TRUE(claim(10).messages.empty());
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::error);
    EXPECT_EQ(error_in(seen.error).type, "poison");
    EXPECT_EQ(error_in(seen.error).message, "delivered 2 times without a report");
    EXPECT_TRUE(contains(seen.last_error, "delivered 2 times"));
    EXPECT_EQ(seen.completed_at, store().now());
    EXPECT_FALSE(seen.visible_at);
    EXPECT_EQ(step(run, "done").status, StepStatus::success);
    EXPECT_EQ(step(run, "open").status, StepStatus::cancelled);
    EXPECT_EQ(event_kinds(run), "lease_lost,lease_lost,poison");
    EXPECT_FALSE(message_of(run));
    const auto letters = store().runs({.workflow = "graves"});
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_TRUE(contains(letters[0].input.text, "poison"));
    EXPECT_EQ(letters[0].parent, run);
}

TEST_P(RunClaimTest, poison_leaves_no_event_if_none_are_kept) {
    make_workflow("job", {.max_strikes = 1, .audit = AuditLevel::off});
    const RunId run = trigger();
    (void)claim_one();
    advance(31s);
    EXPECT_TRUE(claim(10).messages.empty());
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(event_kinds(run), "");
}

TEST_P(RunClaimTest, poison_does_not_affect_other_runs) {
    make_workflow("job", {.max_strikes = 1});
    const RunId poison = trigger();
    (void)claim_one();
    advance(31s);
    const auto good = trigger_many(3);
    std::vector<RunId> got;
    for (const Held& held : claim_many(10)) got.push_back(held.id());
    EXPECT_EQ(got, good);
    EXPECT_EQ(status(poison), RunStatus::error);
}

TEST_P(RunClaimTest, a_run_with_two_strikes_is_delivered_alone_unless_it_made_progress) {
    make_workflow();
    const RunId suspect = trigger();
    for (int i = 0; i < 2; ++i) {
        (void)claim_one();
        advance(31s);
    }
    const auto others = trigger_many(2);
    const auto alone = claim_many(10);
    ASSERT_EQ(alone.size(), 1U);
    EXPECT_EQ(alone[0].id(), suspect);
    commit(checkpoint(alone[0].lease(), "a", 1));
    advance(31s);
    EXPECT_EQ(claim_many(10).size(), 3U) << "it made progress meanwhile";
}

}  // namespace
}  // namespace pawl::test
