// The effects of each kind of write on a run: checkpoint, suspend, finish.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RunCommitTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
};
PAWL_FOR_EACH_BACKEND(RunCommitTest);

TEST_P(RunCommitTest, a_checkpoint_records_a_step) {
    make_workflow();
    (void)trigger();
    const Held held = claim_one("job", WorkerId(9));
    advance(10s);
    Write write = checkpoint(held.lease(), "charge", 1, R"({"ok":true})");
    auto& recorded = write.as<Checkpoint>().step;
    recorded->attempt = 2;
    recorded->input = R"({"amount":5})";
    recorded->elapsed = 3s;
    EXPECT_EQ(commit(write), WriteStatus::done);
    const StepInfo seen = step(held.id(), "charge");
    EXPECT_EQ(seen.status, StepStatus::success);
    EXPECT_EQ(seen.position, 1);
    EXPECT_EQ(seen.attempt, 2);
    EXPECT_EQ(seen.delivery, 1);
    EXPECT_EQ(seen.worker, WorkerId(9));
    EXPECT_EQ(seen.input, Json{R"({"amount":5})"});
    EXPECT_EQ(seen.output, Json{R"({"ok":true})"});
    EXPECT_FALSE(seen.error);
    EXPECT_EQ(seen.started_at, start + 7s);
    EXPECT_EQ(seen.completed_at, start + 10s);
    EXPECT_EQ(status(held.id()), RunStatus::running);
    EXPECT_EQ(message_of(held.id())->visible_at, start + 30s) << "the lease is as it was";
}

TEST_P(RunCommitTest, the_time_that_a_write_waited_in_the_worker_counts_for_the_start_of_a_step) {
    using Steady = std::chrono::steady_clock;
    make_workflow();
    make_workflow("child");
    const auto expect_start = [&](const Write& write, seam::StepWrite& step) {
        const auto before = Steady::now();
        step.elapsed = 3s;
        step.measured_at = before - 1h;
        EXPECT_EQ(commit(write), WriteStatus::done);
        const auto took = Steady::now() - before;
        const auto started = *this->step(RunId(write.lease.message.value()), step.id).started_at;
        EXPECT_LE(started, start - 1h - 3s);
        EXPECT_GE(started + took + std::chrono::microseconds(1), start - 1h - 3s);
    };
    for (const std::string id : {"result", "again", "call"}) {
        const Held held = trigger_and_claim();
        Write write = id == "result" ? checkpoint(held.lease(), id, 1)
                                     : retry_step(held.lease(), id, 1, 1, 1h);
        if (id == "result") {
            expect_start(write, *write.as<Checkpoint>().step);
            continue;
        }
        if (id == "call") {
            write.as<Suspend>().status = RunStatus::paused;
            write.as<Suspend>().step->status = StepStatus::paused;
            write.as<Suspend>().call = NewRun{"child", {}, {}};
        }
        expect_start(write, *write.as<Suspend>().step);
    }
}

TEST_P(RunCommitTest, a_failed_step_keeps_its_error) {
    make_workflow();
    const Held held = trigger_and_claim();
    EXPECT_EQ(commit(failed_step(held.lease(), "a", 1)), WriteStatus::done);
    const StepInfo seen = step(held.id(), "a");
    EXPECT_EQ(seen.status, StepStatus::error);
    EXPECT_EQ(error_in(seen.error).message, "no luck");
    EXPECT_EQ(error_in(seen.error).step, "a");
    EXPECT_EQ(seen.completed_at, start);
    EXPECT_EQ(status(held.id()), RunStatus::running) << "code may catch it and continue";
}

TEST_P(RunCommitTest, a_result_is_never_overwritten) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "good", 1, "1"));
    commit(failed_step(held.lease(), "bad", 2));
    for (const std::string id : {"good", "bad"}) {
        EXPECT_EQ(commit(checkpoint(held.lease(), id, 9, "2")), WriteStatus::done);
        EXPECT_EQ(commit(running(held.lease(), id, 9)), WriteStatus::done);
    }
    EXPECT_EQ(step(held.id(), "good").output, Json{"1"});
    EXPECT_EQ(step(held.id(), "good").position, 1);
    EXPECT_EQ(step(held.id(), "bad").status, StepStatus::error);
    EXPECT_EQ(commit(retry_step(held.lease(), "good", 1, 2, 5s)), WriteStatus::done);
    EXPECT_EQ(step(held.id(), "good").status, StepStatus::success);
    EXPECT_NE(message_of(held.id())->state, MessageState::leased) << "the run is suspended";
}

TEST_P(RunCommitTest, running_is_only_written_if_there_is_no_result) {
    make_workflow();
    const Held held = trigger_and_claim();
    EXPECT_EQ(commit(running(held.lease(), "a", 1)), WriteStatus::done);
    EXPECT_EQ(step(held.id(), "a").status, StepStatus::running);
    EXPECT_FALSE(step(held.id(), "a").completed_at);
    commit(retry_step(held.lease(), "a", 1, 1, 0s));
    const Held again = claim_one();
    EXPECT_EQ(step(held.id(), "a").status, StepStatus::pending);
    commit(running(again.lease(), "a", 1, 2));
    EXPECT_EQ(step(held.id(), "a").status, StepStatus::running);
    EXPECT_EQ(step(held.id(), "a").attempt, 2);
    commit(checkpoint(again.lease(), "a", 1));
    EXPECT_EQ(step(held.id(), "a").status, StepStatus::success);
}

TEST_P(RunCommitTest, a_step_to_be_retried_lets_the_message_wait) {
    make_workflow();
    const Held held = trigger_and_claim();
    Write write = retry_step(held.lease(), "a", 1, 1, 8s);
    write.as<Suspend>().attempts = 2;
    write.event = AuditEvent{"step_failed", R"({"step":"a"})"};
    EXPECT_EQ(commit(write), WriteStatus::done);
    const RunInfo seen = info(held.id());
    EXPECT_EQ(seen.status, RunStatus::running);
    EXPECT_EQ(seen.visible_at, start + 8s);
    EXPECT_EQ(seen.strikes, 0);
    EXPECT_EQ(seen.attempts, 2);
    EXPECT_EQ(seen.last_error, "not now");
    EXPECT_FALSE(seen.paused_at);
    EXPECT_EQ(message_of(held.id())->state, MessageState::waiting);
    EXPECT_EQ(step(held.id(), "a").status, StepStatus::pending);
    EXPECT_EQ(error_in(step(held.id(), "a").error).message, "not now");
    const auto events = store().run(held.id()).events();
    ASSERT_EQ(events.size(), 1U);
    EXPECT_EQ(events[0].kind, "step_failed");
    EXPECT_EQ(events[0].data, Json{R"({"step":"a"})"});
    EXPECT_EQ(events[0].delivery, 1);
    EXPECT_EQ(events[0].at, start);
}

TEST_P(RunCommitTest, a_suspension_without_a_step_and_without_delay_is_ready_immediately) {
    make_workflow();
    const Held held = trigger_and_claim();
    Suspend retry;
    retry.attempts = 1;
    retry.last_error = "outside of any step";
    EXPECT_EQ(commit({held.lease(), retry}), WriteStatus::done);
    EXPECT_TRUE(store().run(held.id()).steps().empty());
    EXPECT_EQ(message_of(held.id())->state, MessageState::ready);
    EXPECT_EQ(info(held.id()).attempts, 1);
    EXPECT_EQ(claim_one().message.attempts, 1);
}

TEST_P(RunCommitTest, a_pause_shows_what_is_waited_for) {
    make_workflow();
    const Held held = trigger_and_claim();
    EXPECT_EQ(commit(pause_step(held.lease(), "ask", 1, 1h)), WriteStatus::done);
    const RunInfo seen = info(held.id());
    EXPECT_EQ(seen.status, RunStatus::paused);
    EXPECT_EQ(seen.paused_at, start);
    EXPECT_EQ(seen.visible_at, start + 1h);
    const StepInfo paused = step(held.id(), "ask");
    EXPECT_EQ(paused.status, StepStatus::paused);
    EXPECT_EQ(paused.pause_message, "waits for a person");
    EXPECT_EQ(paused.pause_condition, "approved");
    EXPECT_FALSE(paused.wake_at);
    EXPECT_FALSE(paused.completed_at);
}

TEST_P(RunCommitTest, a_sleep_ends_at_a_time_or_after_one) {
    make_workflow();
    const Held after = trigger_and_claim();
    commit(sleep_step(after.lease(), "nap", 1, 10s));
    EXPECT_EQ(step(after.id(), "nap").wake_at, start + 10s);
    EXPECT_EQ(info(after.id()).visible_at, start + 10s);
    EXPECT_EQ(status(after.id()), RunStatus::paused);
    const Held until = trigger_and_claim();
    Write write = sleep_step(until.lease(), "nap", 1, 0s);
    auto& sleep = write.as<Suspend>();
    sleep.step->wake_after_delay = false;
    sleep.step->wake_at = start + 90s;
    sleep.until = start + 90s;
    commit(write);
    EXPECT_EQ(step(until.id(), "nap").wake_at, start + 90s);
    EXPECT_EQ(info(until.id()).visible_at, start + 90s);
}

TEST_P(RunCommitTest, a_pause_ends_no_later_than_the_runs_own_time) {
    make_workflow("job", {.run_timeout = 60s});
    const Held held = trigger_and_claim();
    advance(10s);
    commit(pause_step(held.lease(), "ask", 1, 1h));
    EXPECT_EQ(info(held.id()).visible_at, start + 60s);
}

TEST_P(RunCommitTest, success_ends_the_run) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "a", 1));
    advance(4s);
    Write write = success(held.lease(), R"({"total":3})");
    write.event = AuditEvent{"succeeded"};
    EXPECT_EQ(commit(write), WriteStatus::done);
    const RunInfo seen = info(held.id());
    EXPECT_EQ(seen.status, RunStatus::success);
    EXPECT_EQ(seen.output, Json{R"({"total":3})"});
    EXPECT_FALSE(seen.error);
    EXPECT_EQ(seen.last_error, "");
    EXPECT_EQ(seen.completed_at, start + 4s);
    EXPECT_EQ(seen.updated_at, start + 4s);
    EXPECT_EQ(seen.delivery, 1);
    EXPECT_EQ(seen.strikes, 0);
    EXPECT_FALSE(seen.visible_at);
    EXPECT_FALSE(message_of(held.id()));
    EXPECT_EQ(store().queue("job").stats().archived, 0) << "the run is the record";
    EXPECT_EQ(event_kinds(held.id()), "succeeded");
}

TEST_P(RunCommitTest, failure_ends_the_run_and_its_open_steps) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "good", 1));
    commit(running(held.lease(), "open", 2));
    EXPECT_EQ(commit(failure(held.lease(), "card declined")), WriteStatus::done);
    const RunInfo seen = info(held.id());
    EXPECT_EQ(seen.status, RunStatus::error);
    EXPECT_EQ(error_in(seen.error).message, "card declined");
    EXPECT_TRUE(contains(seen.last_error, "card declined"));
    EXPECT_FALSE(seen.output);
    EXPECT_EQ(seen.completed_at, start);
    EXPECT_FALSE(message_of(held.id()));
    EXPECT_EQ(step(held.id(), "good").status, StepStatus::success);
    EXPECT_EQ(step(held.id(), "open").status, StepStatus::cancelled);
}

TEST_P(RunCommitTest, a_failure_triggers_the_dead_letter_workflow_once) {
    make_workflow("graves");
    make_workflow("job", {.dead_letter_workflow = "graves"});
    const Held held = trigger_and_claim("job", Json{R"({"n":1})"});
    EXPECT_EQ(commit(failure(held.lease(), "card declined")), WriteStatus::done);
    EXPECT_EQ(commit(failure(held.lease(), "card declined"), Attempt::repeated), WriteStatus::done);
    const auto letters = store().runs({.workflow = "graves"});
    ASSERT_EQ(letters.size(), 1U);
    EXPECT_EQ(letters[0].status, RunStatus::queued);
    EXPECT_EQ(letters[0].parent, held.id());
    const std::string& input = letters[0].input.text;
    EXPECT_TRUE(contains(input, std::to_string(held.id().value())));
    EXPECT_TRUE(contains(input, "job"));
    EXPECT_TRUE(contains(input, R"({"n":1})"));
    EXPECT_TRUE(contains(input, "card declined"));
    EXPECT_EQ(claim_one("graves").id(), letters[0].id) << "it can be worked";
}

TEST_P(RunCommitTest, success_triggers_no_dead_letter) {
    make_workflow("graves");
    make_workflow("job", {.dead_letter_workflow = "graves"});
    commit(success(trigger_and_claim().lease()));
    EXPECT_TRUE(store().runs({.workflow = "graves"}).empty());
}

TEST_P(RunCommitTest, a_run_is_handed_back_unstarted_as_a_message_is) {
    make_workflow();
    const Held held = trigger_and_claim();
    EXPECT_EQ(commit({held.lease(), seam::HandBack{}}), WriteStatus::done);
    EXPECT_EQ(info(held.id()).strikes, 0);
    EXPECT_EQ(claim_one().id(), held.id());
}

TEST_P(RunCommitTest, large_outputs_and_odd_ids_are_kept_as_they_are) {
    make_workflow();
    const Held held = trigger_and_claim();
    const std::string odd = "ä '\"\\ {},%_ " + std::string(200, 'z');
    const std::string large = "\"" + std::string(1'000'000, 'x') + "\\u0000,{}\"";
    EXPECT_EQ(
        commit_all(
            {checkpoint(held.lease(), odd, 1, large),
             checkpoint(held.lease(), "NULL", 2, "null"),
             success(held.lease(), large)}
        ),
        std::vector(3, WriteStatus::done)
    );
    EXPECT_EQ(step(held.id(), odd).output, Json{large});
    EXPECT_EQ(step(held.id(), "NULL").output, Json{"null"});
    EXPECT_EQ(info(held.id()).output, Json{large});
}

}  // namespace
}  // namespace pawl::test
