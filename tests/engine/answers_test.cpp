// Answers that a run cannot decode: rejected if nothing was recorded after them, kept otherwise.
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class AnswersTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    // Until nothing is due.
    static void drain(Worker& made) {
        while (made.poll_once() > 0) continue;
    }
    static int ask(Context& ctx) {
        const int answer = ctx.pause<int>("ask", "how many?");
        return ctx.step("double", [&] { return answer * 2; });
    }
};
PAWL_FOR_EACH_BACKEND(AnswersTest);

TEST_P(AnswersTest, an_answer_that_does_not_decode_pauses_the_step_again) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for(ask);
    drain(made);
    store().resume(run, "ask", std::string("many"));
    advance(5s);
    drain(made);
    EXPECT_EQ(status(run), RunStatus::paused);
    const StepInfo asked = step(run, "ask");
    EXPECT_EQ(asked.status, StepStatus::paused);
    EXPECT_FALSE(asked.output);
    EXPECT_FALSE(asked.completed_at);
    EXPECT_TRUE(contains(asked.pause_message, "how many? (answer rejected: "));
    EXPECT_TRUE(contains(asked.pause_message, "must be number"));
    EXPECT_EQ(info(run).paused_at, start + 5s);
    EXPECT_EQ(info(run).visible_at, start + 5s + 1h) << "the next check";
    EXPECT_EQ(info(run).strikes, 0);
    EXPECT_EQ(event_kinds(run), "paused,resumed,resume_rejected");
    const std::string kept = store().run(run).events().back().data.text;
    EXPECT_TRUE(contains(kept, R"("data":"many")"));
    EXPECT_TRUE(contains(kept, R"("step":"ask")"));
    EXPECT_TRUE(contains(log_text(), "pauses at step 'ask' again"));
    store().resume(run, "ask", 21);
    drain(made);
    EXPECT_EQ(info(run).output, Json{"42"});
}

TEST_P(AnswersTest, several_bad_answers_are_rejected_one_after_the_other) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for(ask);
    drain(made);
    for (int i = 0; i < 3; ++i) {
        store().resume(run, "ask", std::string("many"));
        drain(made);
        EXPECT_EQ(status(run), RunStatus::paused);
    }
    const std::string message = step(run, "ask").pause_message;
    EXPECT_EQ(message.find("rejected"), message.rfind("rejected"));
    store().resume(run, "ask", 1);
    drain(made);
    EXPECT_EQ(info(run).output, Json{"2"});
}

TEST_P(AnswersTest, an_early_answer_that_does_not_decode_is_rejected_too) {
    make_workflow();
    const RunId run = trigger();
    store().resume(run, "ask", std::string("many"), {.early = true});
    auto made = worker_for(ask);
    drain(made);
    EXPECT_EQ(step(run, "ask").status, StepStatus::paused);
    store().resume(run, "ask", 1);
    drain(made);
    EXPECT_EQ(info(run).output, Json{"2"});
}

TEST_P(AnswersTest, an_answer_to_a_body_that_paused_is_rejected_and_the_body_runs_at_the_check) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        return ctx.step("count", [&]() -> int {
            if (++calls < 2) throw PauseError("no counter", 10min);
            return 7;
        });
    });
    drain(made);
    store().resume(run, "count", std::string("many"));
    drain(made);
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_TRUE(contains(step(run, "count").pause_message, "answer rejected: "));
    EXPECT_EQ(calls, 1);
    advance(1h);
    drain(made);
    EXPECT_EQ(info(run).output, Json{"7"});
}

TEST_P(AnswersTest, an_answer_that_a_later_step_was_recorded_after_stays) {
    make_workflow("job", {.max_attempts = 1});
    const RunId run = trigger();
    {
        auto made = worker_for([](Context& ctx) {
            (void)ctx.pause<int>("ask", "how many?");
            ctx.step("later", [] {});
            ctx.sleep(10s);
        });
        drain(made);
        store().resume(run, "ask", 5);
        drain(made);
    }
    advance(10s);
    auto made = worker_for([](Context& ctx) {
        return ctx.pause<std::string>("ask", "how many?");  // the code has changed
    });
    drain(made);
    EXPECT_EQ(status(run), RunStatus::error);
    const auto error = error_in(info(run).error);
    EXPECT_EQ(error.type, "serialization_error");
    EXPECT_TRUE(contains(error.message, "step 'ask'"));
    EXPECT_EQ(step(run, "ask").output, Json{"5"});
    EXPECT_FALSE(has_event(run, "resume_rejected"));
}

TEST_P(AnswersTest, an_answer_that_an_execution_has_failed_with_stays) {
    make_workflow("job", {.max_attempts = 3});
    const RunId run = trigger();
    {
        auto made = worker_for([](Context& ctx) {
            (void)ctx.pause<int>("ask", "how many?");
            throw TransientError("not now", 10s);
        });
        drain(made);
        store().resume(run, "ask", 5);
        drain(made);
    }
    advance(10s);
    auto made = worker_for([](Context& ctx) { return ctx.pause<std::string>("ask", "?"); });
    drain(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "step 'ask'"));
    EXPECT_EQ(step(run, "ask").output, Json{"5"});
}

TEST_P(AnswersTest, a_result_of_a_body_is_never_rejected) {
    make_workflow("job", {.max_attempts = 3});
    const RunId run = trigger();
    {
        auto made = worker_for([](Context& ctx) {
            (void)ctx.step("count", [] { return 1; });
            throw TransientError("not now", 10s);
        });
        drain(made);
    }
    advance(10s);
    auto made = worker_for([](Context& ctx) {
        return ctx.step("count", [] { return std::string("one"); });
    });
    drain(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "step 'count'"));
    EXPECT_EQ(step(run, "count").status, StepStatus::success);
}

TEST_P(AnswersTest, the_error_of_a_step_used_twice_names_the_one_that_does_not_decode) {
    make_workflow("job", {.max_attempts = 1});
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        (void)ctx.step("a", [] { return 1; });
        const auto guard = [&] {
            auto acquired = ctx.acquire("a");
            if (!acquired.skipped()) acquired.success(std::string("x"));
            return acquired.output<int>();
        };
        return guard();
    });
    drain(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "step 'a#2'"));
}

TEST_P(AnswersTest, a_rejection_is_fenced_and_may_be_repeated) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(pause_step(held.lease(), "ask", 1, 1h));
    store().resume(held.id(), "ask", Json{"\"many\""});
    const auto backend = detail::Access::backend(store());
    const auto reject = [&](const Lease& lease) {
        return backend->reject_resume(lease, "ask", "no", 1h);
    };
    EXPECT_EQ(reject(held.lease()), seam::Rejection::lease_lost) << "not held any more";
    const Held again = claim_one();
    EXPECT_EQ(reject(again.lease()), seam::Rejection::done);
    EXPECT_EQ(reject(again.lease()), seam::Rejection::done) << "the answer was lost";
    EXPECT_EQ(
        std::ranges::count(store().run(again.id()).events(), "resume_rejected", &RunEvent::kind), 1
    );
    EXPECT_EQ(commit(success(again.lease())), WriteStatus::lease_lost);
    store().resume(held.id(), "ask", Json{"1"});
    EXPECT_EQ(reject(again.lease()), seam::Rejection::lease_lost);
    const Held third = claim_one();
    commit(checkpoint(third.lease(), "later", 2));
    EXPECT_EQ(reject(third.lease()), seam::Rejection::used);
    EXPECT_EQ(step(held.id(), "ask").output, Json{"1"});
    store().cancel(held.id(), "no");
    EXPECT_EQ(reject(third.lease()), seam::Rejection::lease_lost);
}

TEST_P(AnswersTest, a_rejected_answer_is_published_as_a_pause) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const RunId run = trigger();
    auto made = worker_for(ask);
    drain(made);
    store().resume(run, "ask", std::string("many"));
    drain(made);
    int paused = 0;
    for (const OutboxEvent& event : store().outbox())
        if (event.type == "run.paused") ++paused;
    EXPECT_EQ(paused, 2);
}

// --- calls ---

TEST_P(AnswersTest, a_step_that_waits_for_another_run_cannot_be_resumed) {
    make_workflow();
    make_workflow("child");
    const RunId run = trigger();
    auto made =
        worker_for([](Context& ctx) { return ctx.call<int>("part", workflow("child").trigger()); });
    drain(made);
    ASSERT_EQ(status(run), RunStatus::paused);
    const RunId child = store().runs({.workflow = "child"}).front().id;
    for (const bool early : {false, true}) {
        const Error error =
            error_of([&] { store().resume(run, "part", Json{"1"}, {.early = early}); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(
            std::string(error.what()),
            "step 'part' of run " + std::to_string(run.value()) + " waits for run " +
                std::to_string(child.value()) + ": it ends when that run does"
        );
    }
    EXPECT_TRUE(contains(
        error_of([&] { store().resume(run, "other", Json{"1"}); }).what(),
        "the run waits at step 'part' for run " + std::to_string(child.value())
    ));
    EXPECT_FALSE(
        contains(error_of([&] { store().resume(run, "parts", Json{"1"}); }).what(), "did you mean")
    ) << "it would be refused too";
    EXPECT_EQ(count(Rows::signals), 0);
}

TEST_P(AnswersTest, a_call_never_takes_an_early_resume_as_its_result) {
    make_workflow();
    make_workflow("child");
    const RunId run = trigger();
    store().resume(run, "part", Json{"1"}, {.early = true});
    auto made =
        worker_for([](Context& ctx) { return ctx.call<int>("part", workflow("child").trigger()); });
    drain(made);
    EXPECT_EQ(status(run), RunStatus::paused);
    auto child = worker_for([](Context&) { return 7; }, "child");
    drain(child);
    drain(made);
    EXPECT_EQ(info(run).output, Json{"7"});
}

TEST_P(AnswersTest, a_called_runs_output_that_does_not_decode_names_the_step) {
    make_workflow("job", {.max_attempts = 1});
    make_workflow("child");
    const RunId run = trigger();
    auto made =
        worker_for([](Context& ctx) { return ctx.call<int>("part", workflow("child").trigger()); });
    drain(made);
    auto child = worker_for([](Context&) { return std::string("seven"); }, "child");
    drain(child);
    drain(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "step 'part'"));
}

}  // namespace
}  // namespace pawl::test
