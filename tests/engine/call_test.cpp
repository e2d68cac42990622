// ctx.call(): a run that waits for another run.
#include <atomic>
#include <pawl/json.h>

#include "support/flow_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

constexpr Workflow<int, std::string> shout{"shout"};
constexpr Workflow<void, void> nothing{"nothing"};

class CallTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        make_workflow("job");
        make_workflow("child");
    }
    template <class Parent, class Child>
    [[nodiscard]] Worker family(Parent parent, Child child) const {
        return worker("w")
            .handle("job", std::move(parent))
            .handle("child", std::move(child))
            .share_threads(shares_threads())
            .create(store());
    }
    static void drain_with(Worker& worker) {
        while (worker.poll_once() > 0) continue;
    }
    [[nodiscard]] RunInfo child_of(RunId parent) const {
        for (const RunInfo& info : store().runs()) {
            if (info.parent == parent) return info;
        }
        ADD_FAILURE() << "no run was called";
        return {};
    }
    // A parent that waits without a limit and is not leased.
    static void call_child(Context& ctx) { ctx.call("c", workflow("child").trigger()); }
    static void pause_for_ever(Context& ctx) { ctx.pause("ask", "a person"); }
};
PAWL_FOR_EACH_BACKEND(CallTest);
using CallWakeupTest = WithoutPolling<CallTest>;
PAWL_FOR_EACH_BACKEND(CallWakeupTest);

TEST_P(CallTest, a_call_returns_the_output_of_the_other_run) {
    int before = 0;
    auto made = family(
        [&](Context& ctx, int n) {
            ctx.step("before", [&] { ++before; });
            const int twice = ctx.call<int>("double", workflow("child").trigger(n).priority(3));
            return ctx.step("after", [&] { return twice + 1; });
        },
        [](Context&, int n) { return 2 * n; }
    );
    const RunId run = trigger("job", Json{"20"});
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"41"});
    EXPECT_EQ(before, 1) << "it is recorded";
    const RunInfo child = child_of(run);
    EXPECT_EQ(child.workflow, "child");
    EXPECT_EQ(child.priority, 3);
    EXPECT_EQ(child.parent, run);
    EXPECT_EQ(child.idempotency_key, std::nullopt);
    EXPECT_EQ(step(run, "double").status, StepStatus::success);
    EXPECT_EQ(step(run, "double").output, Json{"40"});
    EXPECT_EQ(count(Rows::calls), 0);
}

TEST_P(CallTest, a_run_that_waits_in_a_call_is_paused_and_holds_no_thread) {
    auto made = family(call_child, pause_for_ever);
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::paused);
    EXPECT_EQ(step(run, "c").status, StepStatus::paused);
    EXPECT_EQ(step(run, "c").pause_message, "waits for a run of workflow 'child'");
    const auto wait = step(run, "c").waits_for;
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->kind, WaitKind::run);
    EXPECT_EQ(wait->run, child_of(run).id);
    const auto child_waits = step(child_of(run).id, "ask").waits_for;
    ASSERT_TRUE(child_waits);
    EXPECT_EQ(child_waits->kind, WaitKind::resume);
    EXPECT_FALSE(child_waits->run);
    advance(std::chrono::hours(24 * 365));
    EXPECT_EQ(count(Rows::calls), 1);
    store().resume(child_of(run).id, "ask", Json{"1"});
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_FALSE(step(run, "c").waits_for);
}

TEST_P(CallTest, a_flow_can_be_called) {
    diamond().create(store());
    const auto one = [](TaskContext&) { return 1; };
    auto made =
        worker("w")
            .handle(
                "job",
                [](Context& ctx) {
                    return ctx.call<nlohmann::json>("c", flow("flow").start())["d"].get<int>() + 1;
                }
            )
            .flow("flow", FlowHandlers().on("a", one).on("b", one).on("c", one).on("d", one))
            .share_threads(shares_threads())
            .create(store());
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"2"});
    EXPECT_EQ(child_of(run).workflow, "flow");
}

TEST_P(CallTest, a_flow_without_steps_returns_immediately) {
    flow("flow").create(store());
    auto made = worker_for([](Context& ctx) { return ctx.call("c", flow("flow").start()); });
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(flat(info(run).output), "{}");
}

TEST_P(CallTest, typed_calls) {
    make_workflow("shout");
    make_workflow("nothing");
    auto made =
        worker("w")
            .handle(
                "job",
                [](Context& ctx) {
                    ctx.call("first", nothing.trigger());
                    const std::string loud = ctx.call("second", shout.trigger(3));
                    return loud;
                }
            )
            .handle(
                shout, [](Context&, int n) { return std::string(static_cast<std::size_t>(n), 'A'); }
            )
            .handle(nothing, [](Context&) {})
            .share_threads(shares_threads())
            .create(store());
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{R"("AAA")"});
}

TEST_P(CallTest, the_same_id_again_is_another_call) {
    auto made = family(
        [](Context& ctx) {
            int sum = 0;
            for (int i = 1; i <= 3; ++i) sum += ctx.call<int>("c", workflow("child").trigger(i));
            return sum;
        },
        [](Context&, int n) { return n * 10; }
    );
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"60"});
    EXPECT_EQ(step_ids(run), (std::vector<std::string>{"c", "c#2", "c#3"}));
    EXPECT_EQ(store().count_runs({.workflow = "child"}).success, 3);
}

TEST_P(CallTest, calls_can_be_nested_and_share_threads) {
    make_workflow("grandchild");
    auto made =
        worker("w")
            .handle(
                "job",
                [](Context& ctx) { return ctx.call<int>("c", workflow("child").trigger()) + 1; }
            )
            .handle(
                "child",
                [](Context& ctx) {
                    return ctx.call<int>("c", workflow("grandchild").trigger()) + 1;
                }
            )
            .handle("grandchild", [](Context&) { return 1; })
            .share_threads()
            .create(store());
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"3"});
}

// --- failures ---

TEST_P(CallTest, a_run_that_fails_is_a_step_error_the_same_on_every_replay) {
    std::vector<std::string> caught;
    auto made = family(
        [&](Context& ctx) {
            try {
                ctx.call("c", workflow("child").trigger());
            } catch (const StepError& error) {
                EXPECT_EQ(error.step(), "c");
                caught.emplace_back(error.what());
            }
            ctx.sleep(1min);
            return 5;
        },
        [](Context&) { throw PermanentError("no luck"); }
    );
    const RunId run = trigger();
    drain_with(made);
    advance(1min);
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"5"});
    ASSERT_EQ(caught.size(), 2U);
    EXPECT_EQ(caught[0], caught[1]);
    EXPECT_TRUE(contains(caught[0], "no luck"));
    const model::RunError error = error_in(step(run, "c").error);
    EXPECT_EQ(error.type, "call_failed");
    EXPECT_EQ(error.step, "c");
    EXPECT_TRUE(contains(error.message, "of workflow 'child' ended as ERROR"));
}

TEST_P(CallTest, uncaught_it_fails_the_run) {
    auto made = family(call_child, [](Context&) { throw PermanentError("no luck"); });
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "call_failed");
    EXPECT_EQ(error_in(info(run).error).step, "c");
}

TEST_P(CallTest, a_flow_that_fails_is_a_step_error_too) {
    flow("flow").max_attempts(1).step("a").create(store());
    auto made = worker("w").handle(
                               "job", [](Context& ctx) { ctx.call("c", flow("flow").start()); }
    ).flow("flow", FlowHandlers().on("a", [](TaskContext&) {
         throw PermanentError("no luck");
     })).create(store());
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(error_in(info(run).error).message, "no luck"));
}

TEST_P(CallTest, a_workflow_in_code_cannot_be_called_as_a_flow) {
    make_workflow();
    make_workflow("child");
    auto made = worker_for([](Context& ctx) { ctx.call("c", flow("child").start()); });
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "flow_not_found");
    EXPECT_TRUE(contains(error_in(info(run).error).message, "use trigger() if it is a workflow"));
    EXPECT_TRUE(store().runs({.workflow = "child"}).empty());
}

TEST_P(CallTest, a_run_that_is_cancelled_is_a_step_error) {
    auto made = family(call_child, pause_for_ever);
    const RunId run = trigger();
    drain_with(made);
    store().cancel(child_of(run).id, "not wanted");
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "call_failed");
    EXPECT_TRUE(contains(error_in(info(run).error).message, "ended as CANCELLED"));
}

TEST_P(CallTest, an_unknown_workflow_fails_the_run_immediately) {
    auto made = worker_for([](Context& ctx) { ctx.call("c", workflow("missing").trigger()); });
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "workflow_not_found");
    EXPECT_TRUE(contains(error_in(info(run).error).message, "workflow 'missing' does not exist"));
}

TEST_P(CallTest, an_idempotency_key_is_refused) {
    auto made = worker_for([](Context& ctx) {
        ctx.call("c", workflow("child").trigger().idempotency_key("mine"));
    });
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "invalid_argument");
    EXPECT_EQ(store().count_runs({.workflow = "child"}).queued, 0);
}

TEST_P(CallTest, a_call_inside_of_a_step_is_refused) {
    auto made = worker_for([](Context& ctx) {
        ctx.step("s", [&] { ctx.call("c", workflow("child").trigger()); });
    });
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(error_in(info(run).error).type, "context_misuse");
}

// --- cancels ---

TEST_P(CallTest, cancelling_a_run_cancels_what_it_waits_for) {
    make_workflow("grandchild");
    auto made =
        worker("w")
            .handle("job", call_child)
            .handle("child", [](Context& ctx) { ctx.call("c", workflow("grandchild").trigger()); })
            .handle("grandchild", pause_for_ever)
            .create(store());
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(count(Rows::calls), 2);
    store().cancel(run, "not wanted");
    EXPECT_EQ(store().count_runs().cancelled, 3);
    EXPECT_EQ(count(Rows::calls), 0);
    drain_with(made);
    EXPECT_EQ(store().count_runs().cancelled, 3);
}

TEST_P(CallTest, cancelling_a_run_cancels_the_flow_it_waits_for) {
    flow("flow").step("a").create(store());
    auto made = worker_for([](Context& ctx) { ctx.call("c", flow("flow").start()); });
    const RunId run = trigger();
    drain_with(made);
    store().cancel(run, "not wanted");
    EXPECT_EQ(child_of(run).status, RunStatus::cancelled);
    EXPECT_TRUE(poll().empty());
}

// --- repetition ---

TEST_P(CallTest, a_replay_that_finds_the_call_waiting_waits_again) {
    int calls = 0;
    auto made = family(
        [&](Context& ctx) {
            ++calls;
            return ctx.call<int>("c", workflow("child").trigger());
        },
        [](Context& ctx) { return ctx.pause<int>("ask", "how many?"); }
    );
    const RunId run = trigger();
    drain_with(made);
    for (int i = 0; i < 3; ++i) {
        store().wake(run);
        drain_with(made);
        EXPECT_EQ(status(run), RunStatus::paused);
    }
    EXPECT_EQ(calls, 4);
    EXPECT_EQ(store().runs({.workflow = "child"}).size(), 1U);
    store().resume(child_of(run).id, "ask", Json{"3"});
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"3"});
}

// The worker crashes between the step before the call and the suspension, and again right after it:
// another worker continues the run, and the called run is created once.
TEST_P(CallTest, a_crash_between_does_not_make_another_run) {
    const RunId run = trigger();
    Held first = claim_one();
    EXPECT_EQ(commit(checkpoint(first.lease(), "before", 1, "1")), WriteStatus::done);
    advance(1h);  // its lease ends
    Write write = pause_step(claim_one().lease(), "c", 2, std::chrono::hours(24 * 36'525));
    NewRun called{"child", Json{"4"}, {}};
    called.options.parent = run;
    write.as<Suspend>().call = called;
    EXPECT_EQ(commit(write), WriteStatus::done);
    EXPECT_EQ(commit(write, Attempt::repeated), WriteStatus::done);
    Write late = write;
    late.lease = first.lease();
    EXPECT_EQ(commit(late), WriteStatus::lease_lost);
    EXPECT_EQ(store().runs({.workflow = "child"}).size(), 1U);
    auto made = family(
        [](Context& ctx) {
            const int one = ctx.step("before", [] { return 2; });
            return one + ctx.call<int>("c", workflow("child").trigger(4));
        },
        [](Context&, int n) { return n; }
    );
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"5"});
}

// The called run ends during a replay of the caller.
TEST_P(CallTest, a_run_that_has_ended_before_its_caller_waits_returns_its_output_immediately) {
    bool woken = false;
    auto made = family(
        [&](Context& ctx) {
            if (woken) {
                woken = false;
                store().resume(child_of(ctx.run_id()).id, "ask", Json{"3"});
                const Held child = claim_one("child");
                EXPECT_EQ(commit(success(child.lease(), "3")), WriteStatus::done);
            }
            return ctx.call<int>("c", workflow("child").trigger());
        },
        [](Context& ctx) { return ctx.pause<int>("ask", "how many?"); }
    );
    const RunId run = trigger();
    drain_with(made);
    woken = true;
    store().wake(run);
    drain_with(made);
    EXPECT_EQ(info(run).output, Json{"3"});
    EXPECT_EQ(count(Rows::calls), 0);
}

TEST_P(CallTest, a_retry_of_the_caller_calls_again) {
    std::atomic<int> calls = 0;
    auto made = family(
        [](Context& ctx) { return ctx.call<int>("c", workflow("child").trigger()); },
        [&](Context&) {
            if (++calls == 1) throw PermanentError("no luck");
            return 5;
        }
    );
    const RunId run = trigger();
    drain_with(made);
    EXPECT_EQ(status(run), RunStatus::error);
    const RunId again = store().retry(run).id();
    drain_with(made);
    EXPECT_EQ(info(again).output, Json{"5"});
}

TEST_P(CallWakeupTest, the_end_of_the_called_run_wakes_a_worker) {
    testing::restore_clock(store());
    auto made = family(
        [](Context& ctx) { return ctx.call<int>("c", workflow("child").trigger()) + 1; },
        [](Context&) { return 1; }
    );
    made.start();
    EXPECT_EQ(workflow("job").trigger().wait(30s).execute<int>(store()), 2);
}

}  // namespace
}  // namespace pawl::test
