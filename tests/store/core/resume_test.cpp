// Resuming, waking, cancelling and deleting runs by users.
#include <latch>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class ResumeTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    Held paused(const std::string& name = "job") const {
        const Held held = trigger_and_claim(name);
        commit(pause_step(held.lease(), "ask", 1, 1h));
        return held;
    }
};
PAWL_FOR_EACH_BACKEND(ResumeTest);

TEST_P(ResumeTest, a_resume_sets_the_result_of_the_step_and_the_run_continues) {
    make_workflow();
    const Held held = paused();
    advance(5s);
    store().resume(held.id(), "ask", Json{R"({"yes":true})"});
    const StepInfo seen = step(held.id(), "ask");
    EXPECT_EQ(seen.status, StepStatus::success);
    EXPECT_EQ(seen.output, Json{R"({"yes":true})"});
    EXPECT_EQ(seen.completed_at, start + 5s);
    const RunInfo run = info(held.id());
    EXPECT_EQ(run.status, RunStatus::running);
    EXPECT_FALSE(run.paused_at);
    EXPECT_EQ(message_of(held.id())->state, MessageState::ready);
    EXPECT_TRUE(has_event(held.id(), "resumed"));
    EXPECT_TRUE(contains(store().run(held.id()).events().back().data.text, "ask"));
    const Held again = claim_one();
    ASSERT_EQ(again.run.steps.size(), 1U);
    EXPECT_EQ(again.run.steps[0].output, R"({"yes":true})");
}

TEST_P(ResumeTest, the_first_resume_wins) {
    make_workflow();
    const Held held = paused();
    store().resume(held.id(), "ask", Json{"1"});
    const Error error = error_of([&] { store().resume(held.id(), "ask", Json{"2"}); });
    EXPECT_EQ(error.code(), ErrorCode::step_finished);
    EXPECT_TRUE(contains(error.what(), "ask"));
    EXPECT_EQ(step(held.id(), "ask").output, Json{"1"});
}

TEST_P(ResumeTest, of_many_concurrent_resumes_one_wins) {
    make_workflow();
    const Held held = paused();
    std::atomic<int> won = 0;
    std::atomic<int> late = 0;
    {
        std::latch together(6);
        std::vector<std::jthread> people;
        for (int i = 0; i < 6; ++i) {
            people.emplace_back([&, i] {
                const Store mine = open();
                together.arrive_and_wait();
                try {
                    mine.resume(held.id(), "ask", Json{std::to_string(i)});
                    ++won;
                } catch (const Error& error) {
                    if (error.code() == ErrorCode::step_finished) ++late;
                }
            });
        }
    }
    EXPECT_EQ(won, 1);
    EXPECT_EQ(late, 5);
}

TEST_P(ResumeTest, a_resume_before_the_pause_is_kept_and_used) {
    make_workflow();
    const RunId run = trigger();
    store().resume(run, "ask", Json{"1"}, {.early = true});
    EXPECT_EQ(
        error_of([&] { store().resume(run, "ask", Json{"2"}, {.early = true}); }).code(),
        ErrorCode::step_finished
    );
    EXPECT_EQ(status(run), RunStatus::queued);
    EXPECT_TRUE(store().run(run).steps().empty());
    const Held held = claim_one();
    EXPECT_EQ(commit(pause_step(held.lease(), "ask", 1, 1h)), WriteStatus::done);
    EXPECT_EQ(status(run), RunStatus::running);
    EXPECT_EQ(step(run, "ask").status, StepStatus::success);
    EXPECT_EQ(step(run, "ask").output, Json{"1"});
    EXPECT_EQ(step(run, "ask").completed_at, start);
    EXPECT_EQ(count(Rows::signals), 0) << "it was consumed";
    EXPECT_EQ(claim_one().id(), run) << "it continues immediately";
}

TEST_P(ResumeTest, a_signal_for_another_step_is_not_used) {
    make_workflow();
    const RunId run = trigger();
    store().resume(run, "other", Json{"1"}, {.early = true});
    commit(pause_step(claim_one().lease(), "ask", 1, 1h));
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(count(Rows::signals), 1);
}

TEST_P(ResumeTest, a_resume_while_the_step_is_executed_is_kept) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(running(held.lease(), "ask", 1));
    store().resume(held.id(), "ask", Json{"1"}, {.early = true});
    EXPECT_EQ(step(held.id(), "ask").status, StepStatus::running);
    commit(pause_step(held.lease(), "ask", 1, 1h));
    EXPECT_EQ(step(held.id(), "ask").output, Json{"1"});
}

TEST_P(ResumeTest, a_resume_of_a_paused_step_whose_run_is_in_a_workers_hands_is_recorded) {
    make_workflow();
    const Held held = paused();
    advance(1h);
    const Held checking = claim_one();
    store().resume(held.id(), "ask", Json{"1"});
    EXPECT_EQ(step(held.id(), "ask").output, Json{"1"});
    // The worker has not seen it and pauses again: the result stays and the run continues.
    EXPECT_EQ(commit(pause_step(checking.lease(), "ask", 1, 1h)), WriteStatus::done);
    EXPECT_EQ(step(held.id(), "ask").status, StepStatus::success);
    EXPECT_EQ(message_of(held.id())->state, MessageState::ready)
        << "else it would wait an hour for what is there";
}

TEST_P(ResumeTest, resumes_that_make_no_sense_are_refused) {
    make_workflow();
    const auto code = [&](RunId run, const std::string& step) {
        return error_of([&] { store().resume(run, step, Json{"1"}); }).code();
    };
    EXPECT_EQ(code(RunId(4711), "a"), ErrorCode::run_not_found);
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "good", 1));
    commit(failed_step(held.lease(), "bad", 2));
    EXPECT_EQ(code(held.id(), "good"), ErrorCode::step_finished);
    EXPECT_EQ(code(held.id(), "bad"), ErrorCode::step_finished);
    commit(sleep_step(held.lease(), "nap", 3, 10s));
    const Error sleeping = error_of([&] { store().resume(held.id(), "nap", Json{"1"}); });
    EXPECT_EQ(sleeping.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(contains(sleeping.what(), "sleep"));
    EXPECT_EQ(
        error_of([&] { store().resume(held.id(), "x", Json{"{"}); }).code(),
        ErrorCode::invalid_payload
    );
    store().cancel(held.id(), "no");
    const Error finished = error_of([&] { store().resume(held.id(), "x", Json{"1"}); });
    EXPECT_EQ(finished.code(), ErrorCode::run_finished);
    EXPECT_TRUE(contains(finished.what(), "CANCELLED"));
    store().delete_run(held.id(), "gone");
    EXPECT_EQ(code(held.id(), "x"), ErrorCode::run_deleted);
    EXPECT_EQ(count(Rows::signals), 0);
}

TEST_P(ResumeTest, a_resume_of_a_step_at_which_the_run_does_not_wait_is_refused) {
    make_workflow();
    const auto refusal = [&](RunId run, const std::string& step) {
        const Error error = error_of([&] { store().resume(run, step, Json{"1"}); });
        EXPECT_EQ(error.code(), ErrorCode::step_not_waiting);
        return std::string(error.what());
    };
    const RunId queued = trigger("job", {}, {.delay = 1h});
    const auto number = [](RunId run) { return std::to_string(run.value()); };
    EXPECT_EQ(
        refusal(queued, "ask"),
        "step 'ask' of run " + number(queued) +
            " does not wait for a resume: the run is QUEUED; only an early resume is kept for a "
            "later pause"
    );
    const Held held = paused();
    EXPECT_EQ(
        refusal(held.id(), "askk"),
        "step 'askk' of run " + number(held.id()) +
            " does not wait for a resume: the run waits at step 'ask'; only an early resume is "
            "kept for a later pause; did you mean 'ask'?"
    );
    EXPECT_FALSE(contains(refusal(held.id(), "shipment"), "did you mean"));
    const Held sleeper = trigger_and_claim();
    commit(sleep_step(sleeper.lease(), "nap", 1, 10s));
    EXPECT_TRUE(contains(refusal(sleeper.id(), "ask"), "the run sleeps at step 'nap'"));
    EXPECT_EQ(count(Rows::signals), 0);
    EXPECT_EQ(status(held.id()), RunStatus::paused);
    EXPECT_FALSE(has_event(held.id(), "resumed"));
}

TEST_P(ResumeTest, a_pause_that_is_not_reached_again_yet_counts_as_early) {
    make_workflow();
    const Held held = paused();
    advance(1h);
    const Held checking = claim_one();
    commit(running(checking.lease(), "ask", 1));  // its body is executed again, and then crashes
    EXPECT_EQ(
        error_of([&] { store().resume(held.id(), "ask", Json{"1"}); }).code(),
        ErrorCode::step_not_waiting
    );
    store().resume(held.id(), "ask", Json{"1"}, {.early = true});
    advance(1h);
    commit(pause_step(claim_one().lease(), "ask", 1, 1h));
    EXPECT_EQ(step(held.id(), "ask").output, Json{"1"});
}

TEST_P(ResumeTest, an_early_resume_of_a_waiting_step_is_a_resume) {
    make_workflow();
    const Held held = paused();
    store().resume(held.id(), "ask", Json{"1"}, {.early = true});
    EXPECT_EQ(step(held.id(), "ask").output, Json{"1"});
    EXPECT_EQ(count(Rows::signals), 0);
}

TEST_P(ResumeTest, wake_lets_a_waiting_run_be_taken_up_now) {
    make_workflow();
    const RunId delayed = trigger("job", {}, {.delay = 1h});
    store().wake(delayed);
    EXPECT_EQ(info(delayed).visible_at, start);
    EXPECT_TRUE(has_event(delayed, "woken"));
    const Held held = claim_one();
    EXPECT_EQ(held.id(), delayed);
    store().wake(delayed);
    EXPECT_EQ(message_of(delayed)->state, MessageState::leased) << "no effect on one in hands";
    commit(pause_step(held.lease(), "ask", 1, 1h));
    store().wake(delayed);
    const Held again = claim_one();
    commit(success(again.lease()));
    EXPECT_EQ(error_of([&] { store().wake(delayed); }).code(), ErrorCode::run_finished);
    EXPECT_EQ(error_of([&] { store().wake(RunId(4711)); }).code(), ErrorCode::run_not_found);
}

TEST_P(ResumeTest, cancel_ends_a_run_in_every_live_status) {
    make_workflow();
    const RunId queued = trigger("job", {}, {.delay = 1h});
    const Held waiting = paused();
    const Held running_one = trigger_and_claim();
    commit(checkpoint(running_one.lease(), "done", 1));
    commit(running(running_one.lease(), "open", 2));
    store().resume(running_one.id(), "later", Json{"1"}, {.early = true});
    advance(3s);
    for (const RunId run : {queued, waiting.id(), running_one.id()}) {
        store().cancel(run, "not wanted");
        const RunInfo seen = info(run);
        EXPECT_EQ(seen.status, RunStatus::cancelled);
        EXPECT_EQ(error_in(seen.error).type, "cancelled");
        EXPECT_EQ(error_in(seen.error).message, "not wanted");
        EXPECT_EQ(seen.completed_at, start + 3s);
        EXPECT_FALSE(seen.paused_at);
        EXPECT_FALSE(message_of(run));
        EXPECT_TRUE(has_event(run, "cancelled"));
    }
    EXPECT_EQ(step(waiting.id(), "ask").status, StepStatus::cancelled);
    EXPECT_EQ(step(running_one.id(), "done").status, StepStatus::success);
    EXPECT_EQ(step(running_one.id(), "open").status, StepStatus::cancelled);
    EXPECT_EQ(count(Rows::signals), 0);
}

TEST_P(ResumeTest, a_finished_run_cannot_be_cancelled) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(success(held.lease(), "5"));
    const Error error = error_of([&] { store().cancel(held.id(), "late"); });
    EXPECT_EQ(error.code(), ErrorCode::run_finished);
    EXPECT_TRUE(contains(error.what(), "SUCCESS"));
    EXPECT_EQ(info(held.id()).output, Json{"5"});
    EXPECT_EQ(error_of([&] { store().cancel(RunId(4711), "x"); }).code(), ErrorCode::run_not_found);
}

TEST_P(ResumeTest, a_deleted_run_is_hidden_and_never_claimed_again) {
    make_workflow();
    const RunId live = trigger();
    store().delete_run(live, "wrong customer");
    EXPECT_TRUE(claim(10).messages.empty());
    const RunInfo seen = info(live);
    EXPECT_EQ(seen.status, RunStatus::cancelled);
    EXPECT_EQ(seen.deleted_at, start);
    EXPECT_EQ(seen.deleted_reason, "wrong customer");
    EXPECT_EQ(error_in(seen.error).message, "wrong customer");
    EXPECT_TRUE(has_event(live, "deleted"));
    EXPECT_TRUE(store().runs().empty());
    EXPECT_EQ(store().runs({.include_deleted = true}).size(), 1U);
    EXPECT_EQ(store().count_runs().cancelled, 0);
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { store().delete_run(live, "again"); },
             [&] { store().cancel(live, "x"); },
             [&] { store().wake(live); },
             [&] { store().retry(live); },
             [&] { store().fork(live, "a"); },
             [&] { (void)store().run(live).wait_json(1s); }})
        EXPECT_EQ(error_of(call).code(), ErrorCode::run_deleted);
    EXPECT_EQ(
        error_of([&] { store().delete_run(RunId(4711), "x"); }).code(), ErrorCode::run_not_found
    );
}

TEST_P(ResumeTest, a_finished_run_keeps_its_end_when_it_is_deleted) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(success(held.lease(), "5"));
    store().delete_run(held.id(), "old");
    EXPECT_EQ(info(held.id()).status, RunStatus::success);
    EXPECT_EQ(info(held.id()).output, Json{"5"});
    EXPECT_FALSE(info(held.id()).error);
}

TEST_P(ResumeTest, no_events_are_kept_if_audit_is_off) {
    make_workflow("job", {.audit = AuditLevel::off});
    const Held held = paused();
    store().wake(held.id());
    store().resume(held.id(), "ask", Json{"1"});
    store().cancel(held.id(), "no");
    store().retry(held.id());
    store().delete_run(held.id(), "old");
    EXPECT_EQ(event_kinds(held.id()), "");
}

}  // namespace
}  // namespace pawl::test
