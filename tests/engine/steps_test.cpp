// Steps with a real worker: executed once, recorded, replayed.
#include <atomic>
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

struct Parcel {
    std::string item;
    int count = 0;
    friend bool operator==(const Parcel&, const Parcel&) = default;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Parcel, item, count)

// Its JSON keeps only whole numbers, so the result shows whether it was stored and decoded.
struct Rounded {
    double value = 0;
};
void to_json(nlohmann::json& json, const Rounded& rounded) {
    json = static_cast<int>(rounded.value);
}
void from_json(const nlohmann::json& json, Rounded& rounded) {
    rounded.value = json.get<int>();
}

class StepsTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
};
PAWL_FOR_EACH_BACKEND(StepsTest);

TEST_P(StepsTest, a_run_goes_through_its_steps_and_returns) {
    make_workflow("job", {.audit = AuditLevel::all});
    const RunId run = trigger("job", Json{R"({"item":"nut","count":3})"});
    auto made = worker_for([](Context& ctx, const Parcel& order) {
        const int doubled = ctx.step("double", [&] { return order.count * 2; });
        const auto text = ctx.step("text", [&] { return order.item + std::to_string(doubled); });
        return Parcel{text, doubled};
    });
    EXPECT_EQ(made.poll_once(), 1);
    const RunInfo seen = info(run);
    EXPECT_EQ(seen.status, RunStatus::success);
    EXPECT_EQ(seen.output_as<Parcel>(), (Parcel{"nut6", 6}));
    EXPECT_EQ(seen.worker, made.id());
    EXPECT_EQ(step_ids(run), (std::vector<std::string>{"double", "text"}));
    const StepInfo first = step(run, "double");
    EXPECT_EQ(first.status, StepStatus::success);
    EXPECT_EQ(first.output, Json{"6"});
    EXPECT_EQ(first.attempt, 1);
    EXPECT_EQ(first.delivery, 1);
    EXPECT_EQ(first.worker, made.id());
    EXPECT_EQ(event_kinds(run), "triggered,started,step_succeeded,step_succeeded,run_succeeded");
}

TEST_P(StepsTest, successes_leave_no_event_by_default) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) { ctx.step("a", [] {}); });
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(event_kinds(run), "");
}

TEST_P(StepsTest, a_replay_executes_only_what_is_not_recorded) {
    make_workflow();
    const RunId run = trigger();
    int first = 0;
    int second = 0;
    int outside = 0;
    auto made = worker_for([&](Context& ctx) {
        ++outside;
        const int a = ctx.step("a", [&] { return ++first; });
        return ctx.step("b", [&] {
            if (++second < 3) throw TransientError("not yet");
            return a + 10 * second;
        });
    });
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(made.poll_once(), 1);
        advance(1h);
    }
    EXPECT_EQ(outside, 3);
    EXPECT_EQ(first, 1) << "a recorded step never runs again";
    EXPECT_EQ(second, 3);
    EXPECT_EQ(info(run).output, Json{"31"});
    EXPECT_EQ(step(run, "b").attempt, 3);
    EXPECT_EQ(step(run, "a").delivery, 1);
    EXPECT_EQ(step(run, "b").delivery, 3);
}

TEST_P(StepsTest, steps_return_anything_that_converts_to_json) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        ctx.step("void", [&] { ++calls; });
        const Parcel order = ctx.step("struct", [] { return Parcel{"nut", 2}; });
        const Json json = ctx.step("json", [] { return Json{R"({"a":[1,2]})"}; });
        const auto list = ctx.step("list", [] { return std::vector<int>{1, 2}; });
        const bool flag = ctx.step("bool", [] { return true; });
        if (ctx.delivery() == 1) throw TransientError("once more");
        EXPECT_EQ(order, (Parcel{"nut", 2}));
        EXPECT_EQ(json.text, R"({"a":[1,2]})");
        EXPECT_EQ(list, (std::vector{1, 2}));
        EXPECT_TRUE(flag);
    });
    made.poll_once();
    advance(1h);
    made.poll_once();
    EXPECT_EQ(calls, 1);
    EXPECT_EQ(info(run).output, Json{"null"}) << "a void handler";
    EXPECT_EQ(step(run, "void").output, Json{"null"});
}

TEST_P(StepsTest, also_the_first_time_a_step_returns_what_is_stored) {
    make_workflow();
    std::vector<double> seen;
    (void)trigger();
    auto made = worker_for([&](Context& ctx) {
        seen.push_back(ctx.step("a", [] { return Rounded{3.7}; }).value);
        if (ctx.delivery() == 1) throw TransientError("once more");
    });
    made.poll_once();
    advance(1h);
    made.poll_once();
    EXPECT_EQ(seen, (std::vector<double>{3, 3}));
}

TEST_P(StepsTest, a_step_returns_only_when_its_result_is_committed) {
    make_workflow();
    const Store other = open();
    std::optional<StepStatus> seen;
    (void)trigger();
    auto made = worker_for([&](Context& ctx) {
        ctx.step("a", [] { return 1; });
        seen = other.run(ctx.run_id()).step("a").status;
    });
    made.poll_once();
    EXPECT_EQ(seen, StepStatus::success);
}

TEST_P(StepsTest, the_same_id_again_is_numbered) {
    make_workflow();
    const RunId run = trigger();
    int calls = 0;
    auto made = worker_for([&](Context& ctx) {
        std::vector<int> got;
        for (int i = 0; i < 3; ++i) got.push_back(ctx.step("each", [&] { return ++calls; }));
        if (ctx.delivery() == 1) throw TransientError("once more");
        return got;
    });
    made.poll_once();
    advance(1h);
    made.poll_once();
    EXPECT_EQ(step_ids(run), (std::vector<std::string>{"each", "each#2", "each#3"}));
    EXPECT_EQ(info(run).output, Json{"[1,2,3]"});
    EXPECT_EQ(calls, 3);
}

TEST_P(StepsTest, the_context_has_the_current_run_and_step) {
    make_workflow();
    const RunId run = trigger();
    std::vector<std::string> seen;
    const auto note = [&](Context& ctx, const std::string& where) {
        seen.push_back(
            where + (ctx.is_replaying() ? " replaying " : " new ") + std::to_string(ctx.attempt())
        );
    };
    auto made = worker_for([&](Context& ctx) {
        EXPECT_EQ(ctx.run_id(), run);
        EXPECT_EQ(ctx.workflow(), "job");
        EXPECT_EQ(ctx.delivery(), static_cast<int>(seen.size()) / 3 + 1);
        EXPECT_FALSE(ctx.cancelled());
        EXPECT_FALSE(ctx.stop_token().stop_requested());
        note(ctx, "start");
        ctx.step("a", [] {});
        note(ctx, "middle");
        ctx.step("b", [&] {
            note(ctx, "b");
            if (ctx.attempt() == 1) throw TransientError("not yet");
        });
    });
    made.poll_once();
    advance(1h);
    made.poll_once();
    EXPECT_EQ(
        seen,
        (std::vector<std::string>{
            "start new 1",
            "middle new 1",
            "b new 1",
            "start replaying 1",
            "middle new 1",
            "b new 2"})
    );
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(StepsTest, the_input_of_a_step_is_kept_for_people) {
    make_workflow();
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("a", {.input = Json{R"({"amount":5})"}}, [] { return 1; });
    });
    made.poll_once();
    EXPECT_EQ(step(run, "a").input, Json{R"({"amount":5})"});
}

TEST_P(StepsTest, a_run_with_many_steps_is_replayed_whole) {
    make_workflow();
    const RunId run = trigger();
    std::atomic<int> calls = 0;
    auto made = worker_for([&](Context& ctx) {
        int sum = 0;
        for (int i = 0; i < 100; ++i) {
            sum += ctx.step("s" + std::to_string(i), [&] {
                ++calls;
                return i;
            });
            if (i == 60 && ctx.delivery() == 1) throw TransientError("in the middle");
        }
        return sum;
    });
    made.poll_once();
    advance(1h);
    made.poll_once();
    EXPECT_EQ(calls, 100);
    EXPECT_EQ(info(run).output, Json{"4950"});
    EXPECT_EQ(store().run(run).steps().size(), 100U);
}

TEST_P(StepsTest, steps_over_the_budget_of_a_claim_are_loaded_when_needed) {
    make_workflow();
    (void)trigger_many(2);
    std::atomic<int> calls = 0;
    auto made = worker_for([&](Context& ctx) {
        std::size_t total = 0;
        for (int i = 0; i < 3; ++i) {
            total += ctx.step(
                            "s",
                            [&] {
                                ++calls;
                                return std::string(900'000, 'x');
                            }
            ).size();
        }
        if (ctx.delivery() == 1) throw TransientError("once more");
        return total;
    });
    EXPECT_EQ(made.poll_once(), 2);
    advance(1h);
    EXPECT_EQ(made.poll_once(), 2);
    EXPECT_EQ(calls, 6);
    EXPECT_EQ(store().count_runs().success, 2);
}

TEST_P(StepsTest, the_guard_form_records_and_skips) {
    make_workflow();
    const RunId run = trigger();
    int executed = 0;
    auto made = worker_for([&](Context& ctx) {
        int value = 0;
        auto guard = ctx.acquire("charge");
        if (guard.skipped()) {
            value = guard.output<int>();
        } else {
            ++executed;
            value = 7;
            guard.success(value);
        }
        if (ctx.delivery() == 1) throw TransientError("once more");
        return value;
    });
    made.poll_once();
    EXPECT_EQ(step(run, "charge").status, StepStatus::success);
    advance(1h);
    made.poll_once();
    EXPECT_EQ(executed, 1);
    EXPECT_EQ(info(run).output, Json{"7"});
}

TEST_P(StepsTest, a_guard_may_fail_its_step_for_good) {
    make_workflow();
    const RunId run = trigger();
    std::vector<std::string> seen;
    auto made = worker_for([&](Context& ctx) {
        try {
            auto guard = ctx.acquire("charge");
            if (!guard.skipped()) guard.failure("card declined");
        } catch (const StepError& error) {
            seen.push_back(error.what());
        }
        if (ctx.delivery() == 1) throw TransientError("once more");
    });
    made.poll_once();
    advance(1h);
    made.poll_once();
    ASSERT_EQ(seen.size(), 2U);
    EXPECT_EQ(seen[0], seen[1]);
    EXPECT_TRUE(contains(seen[0], "card declined"));
    EXPECT_EQ(step(run, "charge").status, StepStatus::error);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(StepsTest, messages_and_runs_are_worked_by_one_worker) {
    make_workflow();
    const Queue plain = make_queue("plain");
    plain.enqueue(Json{"5"});
    const RunId run = trigger();
    int got = 0;
    auto made = worker("w").on_message(
                               "plain", [&](const int& value) { got = value; }
    ).handle("job", [](Context& ctx) {
         return ctx.step("a", [] { return 1; });
     }).create(store());
    int done = 0;
    while (const int part = made.poll_once()) done += part;
    EXPECT_EQ(done, 2);
    EXPECT_EQ(got, 5);
    EXPECT_EQ(plain.stats().archived, 1);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(StepsTest, many_concurrent_runs_all_succeed) {
    make_workflow();
    const auto runs = trigger_many(300);
    auto made = worker("w")
                    .handle(
                        "job",
                        [](Context& ctx, int n) {
                            const int a = ctx.step("a", [&] { return n; });
                            return ctx.step("b", [&] { return a * 2; });
                        }
                    )
                    .concurrency(16)
                    .create(store());
    made.start();
    EXPECT_TRUE(eventually([&] { return store().count_runs().success == 300; }));
    for (const std::size_t i : {0U, 150U, 299U})
        EXPECT_EQ(info(runs[i]).output, Json{std::to_string(2 * i)});
    EXPECT_EQ(count(Rows::steps), 600);
}

}  // namespace
}  // namespace pawl::test
