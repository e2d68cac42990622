// Flows executed by a worker: the inputs of its handlers, and the effects of results and errors.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <pawl/json.h>
#include <set>

#include "support/flow_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

struct Order {
    std::string customer;
    int amount = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, customer, amount)

struct OrderInput {
    Order run;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(OrderInput, run)

struct Fetched {
    Order run;
    int fetch = 0;
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Fetched, run, fetch)

class FlowWorkerTest : public FlowTest {
protected:
    // A flow with one step "a", and a worker with its function.
    template <class F>
    [[nodiscard]] Worker single(F function, const FlowStepOptions& options = {}) const {
        flow("flow").step("a", {}, options).create(store());
        return worker("w")
            .flow("flow", FlowHandlers().on("a", std::move(function)))
            .share_threads(shares_threads())
            .create(store());
    }
    // A user's trigger that refuses every success of a task.
    void forbid_successes() const {
        const std::string head = "create trigger refuse before update on " + place().table("tasks");
        if (!on_postgres()) {
            database()->run(
                head + " when new.status = 'SUCCESS' begin select raise(abort, 'no success'); end"
            );
            return;
        }
        const std::string function = place().schema() + ".refuse()";
        database()->run(
            "create function " + function +
            " returns trigger language plpgsql as $$ begin raise exception 'no success'; end $$"
        );
        database()->run(
            head + " for each row when (new.status = 'SUCCESS') execute function " + function
        );
    }
    static int drain_with(Worker& worker) {
        int count = 0;
        while (const int some = worker.poll_once()) count += some;
        return count;
    }
};
PAWL_FOR_EACH_BACKEND(FlowWorkerTest);
using FlowWorkerWakeupTest = WithoutPolling<FlowWorkerTest>;
PAWL_FOR_EACH_BACKEND(FlowWorkerWakeupTest);

TEST_P(FlowWorkerTest, typed_handlers_get_the_input_and_what_their_step_depends_on) {
    Flow shape = flow("flow").step("fetch").step("total", {"fetch"}).step("log", {"total"});
    shape.on("fetch", [](TaskContext&, const OrderInput& in) { return in.run.amount * 2; })
        .on("total",
            [](TaskContext&, Fetched in) {
                return in.run.customer + ":" + std::to_string(in.fetch);
            })
        .on("log", [](TaskContext&) {});
    shape.create(store());
    auto made = worker("w").flow(shape).share_threads(shares_threads()).create(store());
    const Run run = flow("flow").start(Order{"ada", 21}).execute(store());
    EXPECT_EQ(drain_with(made), 3);
    EXPECT_EQ(run.status(), RunStatus::success);
    EXPECT_EQ(flat(task(run.id(), "total").output), R"("ada:42")");
    EXPECT_EQ(output_of(run.id()), R"({"log":null})");
    EXPECT_EQ(task(run.id(), "fetch").worker, made.id());
}

TEST_P(FlowWorkerTest, a_diamond_is_worked_in_order) {
    diamond().create(store());
    std::mutex mutex;
    std::string order;
    const auto note = [&](TaskContext& context) {
        const std::lock_guard lock(mutex);
        order += context.step();
        return context.step();
    };
    auto made =
        worker("w")
            .flow("flow", FlowHandlers().on("a", note).on("b", note).on("c", note).on("d", note))
            .concurrency(1)
            .create(store());
    const RunId run = start_flow();
    EXPECT_EQ(drain_with(made), 4);
    EXPECT_EQ(order.front(), 'a');
    EXPECT_EQ(order.back(), 'd');
    EXPECT_EQ(output_of(run), R"({"d":"d"})");
}

TEST_P(FlowWorkerTest, a_map_is_one_task_per_element) {
    flow("flow").step("list").map("square", "list").step("sum", {"square"}).create(store());
    std::mutex mutex;
    std::set<int> seen;
    FlowHandlers handlers;
    handlers.on("list",
                [](TaskContext&) {
                    return std::vector<int>{1, 2, 3, 4};
                })
        .on("square",
            [&](TaskContext& context, int n) {
                const std::lock_guard lock(mutex);
                seen.insert(context.task_index());
                return n * n;
            })
        .on("sum", [](TaskContext&, const nlohmann::json& in) {
            int sum = 0;
            for (const int n : in.at("square")) sum += n;
            return sum;
        });
    auto made = worker("w").flow("flow", handlers).share_threads(shares_threads()).create(store());
    const RunId run = start_flow();
    EXPECT_EQ(drain_with(made), 6);
    EXPECT_EQ(output_of(run), R"({"sum":30})");
    EXPECT_EQ(seen, (std::set{0, 1, 2, 3}));
}

TEST_P(FlowWorkerTest, the_context_names_the_task) {
    auto made = single([&](TaskContext& context, const Json& input) {
        EXPECT_EQ(context.flow(), "flow");
        EXPECT_EQ(context.step(), "a");
        EXPECT_EQ(context.task_index(), 0);
        EXPECT_EQ(context.attempt(), 1);
        EXPECT_EQ(context.delivery(), 1);
        EXPECT_EQ(context.input(), input);
        EXPECT_FALSE(context.cancelled());
        EXPECT_FALSE(context.stop_token().stop_requested());
        context.log(LogLevel::info, "here we are");
        return context.run_id().value();
    });
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(output_of(run), "{\"a\":" + std::to_string(run.value()) + "}");
    EXPECT_TRUE(contains(log_text(), "flow 'flow', task 0 of step 'a': here we are"));
}

TEST_P(FlowWorkerTest, a_task_that_throws_is_retried_after_its_backoff) {
    std::vector<int> attempts;
    auto made = single([&](TaskContext& context) {
        attempts.push_back(context.attempt());
        if (context.attempt() < 3) throw std::runtime_error("not now");
        return 7;
    });
    const RunId run = start_flow();
    for (const auto delay : {10s, 20s}) {
        EXPECT_EQ(made.poll_once(), 1);
        EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
        EXPECT_EQ(task(run, "a").error, "not now");
        advance(delay - 1ms);
        EXPECT_EQ(made.poll_once(), 0) << "it waits";
        advance(1ms);
    }
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(attempts, (std::vector{1, 2, 3}));
    EXPECT_EQ(output_of(run), R"({"a":7})");
}

TEST_P(FlowWorkerTest, with_its_attempts_used_up_the_run_fails) {
    auto made = single([](TaskContext&) -> int { throw std::runtime_error("never"); });
    const RunId run = start_flow();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(made.poll_once(), 1);
        advance(1h);
    }
    EXPECT_EQ(made.poll_once(), 0);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(error_in(info(run).error).type, "task_failed");
    EXPECT_EQ(error_in(info(run).error).message, "never");
    EXPECT_EQ(error_in(info(run).error).step, "a");
}

TEST_P(FlowWorkerTest, a_permanent_error_is_not_tried_again) {
    auto made = single([](TaskContext&) { throw PermanentError("no such card"); });
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").error, "permanent: no such card");
    EXPECT_EQ(task(run, "a").attempts, 1);
}

TEST_P(FlowWorkerTest, a_transient_error_may_name_its_delay) {
    auto made = single([](TaskContext& context) {
        if (context.attempt() == 1) throw TransientError("busy", 3min);
    });
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 1);
    advance(3min - 1ms);
    EXPECT_EQ(made.poll_once(), 0);
    advance(1ms);
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowWorkerTest, an_input_that_does_not_decode_fails_immediately) {
    auto made = single([](TaskContext&, const OrderInput&) {});
    const RunId run = start_flow(R"({"customer": "ada"})");
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(task(run, "a").error, "serialization_error"));
    EXPECT_EQ(task(run, "a").attempts, 1);
}

TEST_P(FlowWorkerTest, an_output_that_is_not_json_fails_immediately) {
    auto made = single([](TaskContext&) { return Json{"{nonsense"}; });
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(task(run, "a").error, "the task's output"));
}

TEST_P(FlowWorkerTest, an_output_that_is_too_large_fails_immediately) {
    const std::size_t limit = options().max_payload_bytes;
    auto made = single([&](TaskContext&) { return std::string(limit, 'x'); });
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(task(run, "a").error, "payload_too_large"));
    EXPECT_EQ(task(run, "a").attempts, 1);
}

TEST_P(FlowWorkerTest, a_pause_gives_the_task_back_and_uses_no_attempt) {
    int calls = 0;
    auto made = single(
        [&](TaskContext& context) {
            EXPECT_EQ(context.attempt(), 1);
            if (++calls < 5) throw PauseError("the file is not there yet", 10min);
        },
        {.max_attempts = 1}
    );
    const RunId run = start_flow();
    for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(made.poll_once(), 1);
        EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
        EXPECT_EQ(task(run, "a").attempts, 0);
        EXPECT_EQ(made.poll_once(), 0);
        advance(10min);
    }
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(calls, 5);
}

TEST_P(FlowWorkerTest, a_step_without_a_timeout_is_worked_too) {
    auto made = single([](TaskContext&) { return 1; }, {.task_timeout = 0s});
    const RunId run = start_flow();
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(output_of(run), R"({"a":1})");
}

TEST_P(FlowWorkerTest, a_step_that_was_added_later_is_left_to_workers_that_know_it) {
    auto older = single([](TaskContext&) { return 1; });
    store().add_step("flow", {.slug = "b", .options = {.max_attempts = 1}});
    const RunId run = start_flow();
    for (int i = 0; i < 3; ++i) {
        drain_with(older);
        EXPECT_EQ(states(run), "a SUCCESS, b RUNNING");
        EXPECT_EQ(task(run, "b").status, TaskStatus::queued);
        EXPECT_EQ(task(run, "b").attempts, 0);
        advance(5s);
    }
    EXPECT_TRUE(contains(log_text(), "worker 'w' has no handler for step 'b' of flow 'flow'"));
    const auto two = [](TaskContext&) { return 2; };
    auto newer =
        worker("newer").flow("flow", FlowHandlers().on("a", two).on("b", two)).create(store());
    drain_with(newer);
    EXPECT_EQ(output_of(run), R"({"a":1,"b":2})");
}

TEST_P(FlowWorkerTest, an_output_that_the_database_refuses_fails_the_task) {
    auto made = single([](TaskContext&) { return 1; });
    const RunId run = start_flow();
    forbid_successes();
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(task(run, "a").error, "its output was rejected: "));
    EXPECT_TRUE(contains(task(run, "a").error, "no success"));
    EXPECT_EQ(task(run, "a").attempts, 1);
}

// --- together with other work ---

TEST_P(FlowWorkerTest, one_worker_works_a_flow_a_workflow_and_a_queue) {
    diamond().create(store());
    make_workflow("job");
    const Queue queue = make_queue("work");
    std::atomic<int> messages = 0;
    const auto one = [](TaskContext&) { return 1; };
    auto made =
        worker("w")
            .flow("flow", FlowHandlers().on("a", one).on("b", one).on("c", one).on("d", one))
            .handle("job", [](Context& ctx) { return ctx.step("s", [] { return 2; }); })
            .on_batch(
                "work",
                3,
                [&](std::span<const Message> some) { messages += static_cast<int>(some.size()); }
            )
            .share_threads(shares_threads())
            .create(store());
    const RunId tasks = start_flow();
    const RunId run = trigger("job");
    enqueue_many(queue, 7);
    made.start();
    EXPECT_TRUE(finished(tasks));
    EXPECT_TRUE(finished(run));
    EXPECT_TRUE(eventually([&] { return messages == 7; }));
    made.stop();
    EXPECT_EQ(output_of(tasks), R"({"d":1})");
    EXPECT_EQ(info(run).output, Json{"2"});
    EXPECT_EQ(
        store().worker_info(made.id()).handlers, (std::vector<std::string>{"flow", "job", "work"})
    );
}

TEST_P(FlowWorkerTest, flows_and_workflows_take_turns_if_there_is_room_for_one) {
    flow("flow").step("a").create(store());
    make_workflow("job");
    for (int i = 0; i < 3; ++i) (void)start_flow();
    (void)trigger_many(3);
    std::string order;
    auto made = worker("w")
                    .flow("flow", FlowHandlers().on("a", [&](TaskContext&) { order += 't'; }))
                    .handle("job", [&](Context&) { order += 'r'; })
                    .concurrency(1)
                    .create(store());
    EXPECT_EQ(made.poll_once(), 6);
    EXPECT_EQ(std::ranges::count(order, 't'), 3);
    EXPECT_EQ(std::ranges::count(order, 'r'), 3);
    EXPECT_NE(order.substr(0, 3), "ttt");
    EXPECT_NE(order.substr(0, 3), "rrr");
}

TEST_P(FlowWorkerWakeupTest, a_new_task_wakes_a_worker_that_waits) {
    testing::restore_clock(store());
    auto made = single([](TaskContext&) { return 1; });
    made.start();
    ASSERT_TRUE(worker_is_idle(store()));
    const Run first = flow("flow").start().execute(store());
    EXPECT_EQ(flat(first.wait_json(30s)), R"({"a":1})");
    ASSERT_TRUE(worker_is_idle(store()));
    const Run second = flow("flow").start().execute(open());
    EXPECT_EQ(flat(second.wait_json(30s)), R"({"a":1})");
}

TEST_P(FlowWorkerTest, two_workers_share_many_runs) {
    diamond().create(store());
    std::atomic<int> calls = 0;
    const auto count = [&](TaskContext&) { return ++calls; };
    const FlowHandlers handlers =
        FlowHandlers().on("a", count).on("b", count).on("c", count).on("d", count);
    auto first =
        worker("w1").flow("flow", handlers).share_threads(shares_threads()).create(store());
    const Store other = open();
    auto second = worker("w2").flow("flow", handlers).create(other);
    std::vector<RunId> runs;
    for (int i = 0; i < 40; ++i) runs.push_back(start_flow());
    first.start();
    second.start();
    for (const RunId run : runs) ASSERT_TRUE(finished(run));
    EXPECT_EQ(calls, 160) << "each task ran once";
    EXPECT_EQ(store().count_runs().success, 40);
}

}  // namespace
}  // namespace pawl::test
