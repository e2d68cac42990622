// Errors of steps: retried, recorded, thrown again on a replay, or the end of the run.
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

struct Purchase {
    std::string item;
    int count = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Purchase, item, count)

class StepErrorsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    // Polls and advances the clock over the backoff until the run has ended.
    void work_off(Worker& worker, RunId run) const {
        for (int i = 0; i < 20 && !is_finished(status(run)); ++i) {
            worker.poll_once();
            advance(1h);
        }
    }
};
PAWL_FOR_EACH_BACKEND(StepErrorsTest);

TEST_P(StepErrorsTest, a_transient_error_is_retried_after_the_backoff_without_blocking) {
    make_workflow("job", {.max_attempts = 4, .backoff_base = 2s, .backoff_cap = 5s});
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("a", [&] {
            ++calls;
            throw TransientError("try later");
        });
    });
    for (const Duration raw : {2s, 4s, 5s}) {
        EXPECT_EQ(made.poll_once(), 1);
        const RunInfo seen = info(run);
        EXPECT_EQ(seen.status, RunStatus::running);
        EXPECT_TRUE(contains(seen.last_error, "try later"));
        EXPECT_EQ(seen.strikes, 0);
        const auto delay = *seen.visible_at - store().now();
        EXPECT_GE(delay, raw);
        EXPECT_LE(delay, raw * 3 / 2);
        EXPECT_EQ(step(run, "a").status, StepStatus::pending);
        EXPECT_EQ(step(run, "a").attempt, calls);
        EXPECT_EQ(made.poll_once(), 0) << "it waits";
        advance(8s);
    }
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(status(run), RunStatus::error);
    const auto error = error_in(info(run).error);
    EXPECT_EQ(error.type, "transient");
    EXPECT_EQ(error.message, "try later");
    EXPECT_EQ(error.step, "a");
    EXPECT_EQ(error.attempt, 4);
    EXPECT_EQ(step(run, "a").status, StepStatus::error);
    EXPECT_EQ(event_kinds(run), "step_retry,step_retry,step_retry,step_failed,run_failed");
}

TEST_P(StepErrorsTest, the_default_is_three_executions) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("a", [&] {
            ++calls;
            throw std::runtime_error("no luck");
        });
    });
    work_off(made, run);
    EXPECT_EQ(calls, 3);
    EXPECT_EQ(error_in(info(run).error).type, "std::runtime_error");
    EXPECT_TRUE(contains(info(run).last_error, "no luck"));
}

TEST_P(StepErrorsTest, attempts_may_be_given_by_the_trigger_and_by_the_step) {
    make_workflow();
    int calls = 0;
    StepOptions options;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("a", options, [&] {
            ++calls;
            throw TransientError("no");
        });
    });
    const RunId by_trigger = trigger("job", {}, {.max_attempts = 2});
    work_off(made, by_trigger);
    EXPECT_EQ(calls, 2);
    calls = 0;
    options = {.max_attempts = 1};
    const RunId by_step = trigger("job", {}, {.max_attempts = 2});
    work_off(made, by_step);
    EXPECT_EQ(calls, 1);
}

TEST_P(StepErrorsTest, a_step_may_have_its_own_backoff) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("a", {.backoff_base = 100s, .backoff_cap = 100s}, [] {
            throw TransientError("no");
        });
    });
    made.poll_once();
    EXPECT_GE(*info(run).visible_at, start + 100s);
    EXPECT_LE(*info(run).visible_at, start + 150s);
}

TEST_P(StepErrorsTest, a_transient_error_may_name_its_own_delay) {
    make_workflow();
    const RunId run = trigger();
    auto made =
        worker_for([](Context& ctx) { ctx.step("a", [] { throw TransientError("later", 42s); }); });
    made.poll_once();
    EXPECT_EQ(info(run).visible_at, start + 42s);
}

TEST_P(StepErrorsTest, a_permanent_error_fails_the_step_and_uncaught_the_run_immediately) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("charge", [&] {
            ++calls;
            throw PermanentError("card declined");
        });
    });
    made.poll_once();
    EXPECT_EQ(calls, 1);
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::error);
    const auto error = error_in(seen.error);
    EXPECT_EQ(error.type, "permanent");
    EXPECT_EQ(error.message, "card declined");
    EXPECT_EQ(error.step, "charge");
    EXPECT_EQ(error.attempt, 1);
    EXPECT_EQ(seen.last_error, "step 'charge' failed in attempt 1: card declined (permanent)");
    EXPECT_EQ(seen.error, step(run, "charge").error);
}

TEST_P(StepErrorsTest, a_caught_step_error_is_the_same_on_every_replay) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    std::vector<std::string> seen;
    auto made = worker_for([&](Context& ctx) {
        try {
            ctx.step("charge", [&] {
                ++calls;
                throw PermanentError("card declined");
            });
        } catch (const StepError& error) {
            seen.push_back(error.step() + "|" + error.what() + "|" + error.error().text);
        }
        ctx.step("apologise", [&] {
            if (ctx.attempt() < 3) throw TransientError("not yet");
        });
        return "sorry";
    });
    work_off(made, run);
    EXPECT_EQ(calls, 1);
    ASSERT_EQ(seen.size(), 3U);
    EXPECT_EQ(seen[1], seen[0]);
    EXPECT_EQ(seen[2], seen[0]);
    EXPECT_TRUE(contains(seen[0], "charge|"));
    EXPECT_TRUE(contains(seen[0], "card declined"));
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(info(run).output, Json{"\"sorry\""});
    EXPECT_EQ(step(run, "charge").status, StepStatus::error);
}

TEST_P(StepErrorsTest, a_step_error_is_a_pawl_error_with_a_code_of_its_own) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([&](Context& ctx) {
        try {
            ctx.step("charge", [] { throw PermanentError("card declined"); });
        } catch (const Error& error) {
            EXPECT_FALSE(error.retryable());
            return std::string(to_string(error.code()));
        }
        return std::string("not thrown");
    });
    work_off(made, run);
    EXPECT_EQ(info(run).output, Json{"\"step_failed\""});
}

TEST_P(StepErrorsTest, a_step_error_that_is_thrown_out_of_another_steps_body_is_permanent) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([&](Context& ctx) {
        std::optional<StepError> failed;
        try {
            ctx.step("charge", [] { throw PermanentError("card declined"); });
        } catch (const StepError& error) {
            failed = error;
        }
        ctx.step("report", [&] { throw *failed; });
    });
    work_off(made, run);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(step(run, "report").attempt, 1);
    EXPECT_EQ(error_in(step(run, "report").error).type, "step_failed");
}

TEST_P(StepErrorsTest, every_exception_of_a_body_becomes_an_error_message) {
    make_workflow("job", {.max_attempts = 1});
    auto made = worker_for([](Context& ctx, int kind) {
        ctx.step("a", [&] {
            if (kind == 0) throw 42;
            if (kind == 1) throw std::runtime_error("caf\xe9");
            if (kind == 2) throw std::out_of_range("");
            if (kind == 3) throw std::runtime_error(std::string(100'000, 'x'));
        });
    });
    const auto runs = trigger_many(4);
    while (made.poll_once() > 0) continue;
    for (const RunId run : runs) EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(runs[0]).error).type, "unknown");
    EXPECT_TRUE(contains(error_in(info(runs[1]).error).message, "caf"));
    EXPECT_EQ(error_in(info(runs[2]).error).type, "std::out_of_range");
    EXPECT_LT(info(runs[3]).error->text.size(), 20'000U);
}

TEST_P(StepErrorsTest, an_exception_outside_of_steps_counts_against_the_run) {
    make_workflow();
    const RunId run = trigger();
    std::vector<int> attempts;
    auto made = worker_for([&](Context& ctx) {
        attempts.push_back(ctx.attempt());
        throw std::runtime_error("lost my way");
    });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::running);
    EXPECT_EQ(info(run).attempts, 1);
    EXPECT_TRUE(contains(info(run).last_error, "lost my way"));
    EXPECT_GE(*info(run).visible_at, start + 1s);
    EXPECT_TRUE(has_event(run, "run_retry"));
    advance(1h);
    work_off(made, run);
    EXPECT_EQ(attempts, (std::vector{1, 2, 3}));
    const auto error = error_in(info(run).error);
    EXPECT_EQ(error.type, "std::runtime_error");
    EXPECT_EQ(error.step, "");
    EXPECT_EQ(error.attempt, 3);
}

TEST_P(StepErrorsTest, recorded_progress_gives_the_run_new_attempts) {
    make_workflow("job", {.max_attempts = 2});
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        const int call = ++calls;
        for (int i = 1; i <= call; ++i) ctx.step("s" + std::to_string(i), [] {});
        if (call < 6) throw TransientError("a bit further each time");
    });
    work_off(made, run);
    EXPECT_EQ(calls, 6);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(StepErrorsTest, a_permanent_error_outside_of_steps_ends_the_run_immediately) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context&) {
        ++calls;
        throw PermanentError("never");
    });
    made.poll_once();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "permanent");
    EXPECT_EQ(error_in(info(run).error).step, "");
}

TEST_P(StepErrorsTest, parameters_that_do_not_decode_end_the_run_and_name_the_field) {
    make_workflow();
    const RunId run = trigger("job", Json{R"({"item":"nut"})"});
    const RunId wrong_type = trigger("job", Json{R"({"item":"nut","count":"many"})"});
    int calls = 0;
    auto made = worker_for([&](Context&, const Purchase&) { ++calls; });
    while (made.poll_once() > 0) continue;
    EXPECT_EQ(calls, 0);
    for (const RunId bad : {run, wrong_type}) {
        EXPECT_EQ(status(bad), RunStatus::error);
        EXPECT_EQ(error_in(info(bad).error).type, "serialization_error");
    }
    EXPECT_TRUE(contains(error_in(info(run).error).message, "count"));
}

TEST_P(StepErrorsTest, a_recorded_output_of_another_type_is_a_permanent_error) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("a", [] { return std::string("text"); });
        if (ctx.delivery() == 1) throw TransientError("deploy meanwhile");
    });
    made.poll_once();
    made.stop();
    advance(1h);
    auto newer = worker_for([](Context& ctx) { return ctx.step("a", [] { return 5; }); });
    newer.poll_once();
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "serialization_error");
}

TEST_P(StepErrorsTest, no_events_are_kept_if_audit_is_off) {
    make_workflow("job", {.audit = AuditLevel::off});
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) { ctx.step("a", [] { throw TransientError("no"); }); });
    work_off(made, run);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(event_kinds(run), "");
}

TEST_P(StepErrorsTest, the_dead_letter_workflow_works_on_what_failed) {
    make_workflow("graves");
    make_workflow("job", {.dead_letter_workflow = "graves"});
    const RunId run = trigger("job", Json{R"({"n":1})"});
    nlohmann::json letter;
    auto made = worker("w").handle(
                               "job", [](Context&) { throw PermanentError("never"); }
    ).handle("graves", [&](Context&, const nlohmann::json& input) {
         letter = input;
     }).create(store());
    while (made.poll_once() > 0) continue;
    EXPECT_EQ(letter["run_id"], run.value());
    EXPECT_EQ(letter["workflow"], "job");
    EXPECT_EQ(letter["input"]["n"], 1);
    EXPECT_EQ(letter["error"]["message"], "never");
}

}  // namespace
}  // namespace pawl::test
