// What a worker logs by default: see docs/logging.md.
#include <latch>
#include <pawl/json.h>
#include <thread>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class WorkerLogTest : public WorkflowTest {
protected:
    [[nodiscard]] bool logged(const std::string& text) const {
        return log_text().find(text) != std::string::npos;
    }
    [[nodiscard]] static std::string name_of(const Worker& made) {
        return "worker 'w' (" + std::to_string(made.id().value()) + "): ";
    }
    [[nodiscard]] static std::string text_of(RunId run) {
        return "run " + std::to_string(run.value()) + " of workflow 'job'";
    }
    [[nodiscard]] std::size_t lines_with(const std::string& text) const {
        std::size_t count = 0;
        const std::string all = log_text();
        for (auto at = all.find(text); at != std::string::npos; at = all.find(text, at + 1))
            ++count;
        return count;
    }
};
PAWL_FOR_EACH_BACKEND(WorkerLogTest);

TEST_P(WorkerLogTest, its_start_its_drain_and_its_end) {
    make_workflow();
    auto made = worker_for([](Context&) {});
    made.start();
    EXPECT_TRUE(contains(log_text(), "info: " + name_of(made) + "started on "));
    EXPECT_TRUE(contains(log_text(), "concurrency 16, handles job"));
    made.stop(5s);
    EXPECT_TRUE(contains(
        log_text(), "info: " + name_of(made) + "draining, 0 handlers running, deadline 5000 ms"
    ));
    EXPECT_TRUE(contains(
        log_text(),
        "info: " + name_of(made) + "stopped, 0 messages handed back, 0 handlers still running"
    ));
}

TEST_P(WorkerLogTest, a_failing_step_with_its_attempt_and_the_next_retry) {
    freeze();
    make_workflow("job", {.max_attempts = 2, .backoff_base = 10s});
    const RunId run = trigger();
    auto made = worker_for([](Context& ctx) {
        ctx.step("charge", []() -> int { throw TransientError("no route\nto bank"); });
    });
    made.poll_once();
    EXPECT_TRUE(contains(
        log_text(),
        "warning: " + name_of(made) + "step 'charge' of " + text_of(run) +
            " failed, attempt 1 of 2, next retry in 1"
    )) << "10 s and a random part";
    EXPECT_TRUE(contains(log_text(), " s: no route to bank\n")) << "on one line";
    advance(1h);
    made.poll_once();
    EXPECT_TRUE(contains(
        log_text(),
        "error: " + name_of(made) + "step 'charge' of " + text_of(run) +
            " failed, attempt 2 of 2, no retry: no route to bank\n"
    ));
    EXPECT_TRUE(contains(log_text(), "error: " + name_of(made) + text_of(run) + " failed: step"));
}

TEST_P(WorkerLogTest, a_function_that_throws_outside_of_its_steps) {
    freeze();
    make_workflow("job", {.max_attempts = 2, .backoff_base = 10s});
    const RunId run = trigger();
    auto made = worker_for([](Context&) { throw std::runtime_error("broken"); });
    made.poll_once();
    EXPECT_TRUE(contains(log_text(), text_of(run) + " failed, attempt 1 of 2, next retry in 1"));
    advance(1h);
    made.poll_once();
    EXPECT_TRUE(contains(log_text(), "error: " + name_of(made) + text_of(run) + " failed: "));
}

TEST_P(WorkerLogTest, a_run_that_was_taken_over) {
    freeze();
    make_workflow();
    const RunId run = trigger();
    (void)claim_one("job", WorkerId(4711));
    advance(1min);
    auto made = worker_for([](Context&) {});
    made.poll_once();
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_TRUE(contains(
        log_text(),
        "warning: " + name_of(made) + "took over " + text_of(run) +
            ": the lease of worker 4711 ended without a report"
    ));
}

TEST_P(WorkerLogTest, a_message_that_was_taken_over) {
    freeze();
    const Queue queue = make_queue();
    enqueue_many(queue, 1);
    (void)take_one(queue);
    advance(1min);
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_TRUE(logged(" of queue 'work': the lease of an anonymous consumer ended"));
}

TEST_P(WorkerLogTest, a_poison_run) {
    freeze();
    make_workflow("job", {.max_strikes = 2});
    const RunId run = trigger();
    for (int i = 0; i < 2; ++i) {
        (void)claim_one();
        advance(1min);
    }
    auto made = worker_for([](Context&) {});
    EXPECT_EQ(made.poll_once(), 0);
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_TRUE(contains(
        log_text(), "error: " + name_of(made) + text_of(run) + " failed: poison: delivered 2 times"
    ));
}

TEST_P(WorkerLogTest, a_message_that_fails_and_one_that_becomes_a_dead_letter) {
    freeze();
    const Queue queue = make_queue("work", {.max_attempts = 2});
    const auto ids = enqueue_many(queue, 1);
    auto made = worker("w")
                    .on_message("work", [](const Message&) { throw std::runtime_error("no smtp"); })
                    .backoff(10s, 1h)
                    .create(store());
    const std::string message = "message " + std::to_string(ids[0].value()) + " of queue 'work'";
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_TRUE(contains(log_text(), message + " failed, attempt 1 of 2, next retry in 1"));
    advance(1h);
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_TRUE(contains(log_text(), message + " failed, attempt 2 of 2, no retry: no smtp"));
}

TEST_P(WorkerLogTest, a_task_of_a_flow_that_fails) {
    freeze();
    Flow etl = flow("etl");
    etl.step("fetch").max_attempts(1).on("fetch", [](TaskContext&) -> int {
        throw std::runtime_error("no");
    });
    etl.create(store());
    (void)etl.start().execute(store());
    auto made = worker("w").flow(etl).create(store());
    made.poll_once();
    EXPECT_TRUE(contains(log_text(), "task 0 of step 'fetch' of run "));
    EXPECT_TRUE(contains(log_text(), "of flow 'etl' failed, attempt 1 of 1, no retry: no"));
}

TEST_P(WorkerLogTest, thousands_of_failures_are_a_few_lines_and_a_number) {
    const Queue queue = make_queue();
    enqueue_many(queue, 500);
    auto made = worker("w")
                    .on_message("work", [](const Message&) { throw std::runtime_error("no"); })
                    .backoff(1h, 1h)
                    .create(store());
    EXPECT_EQ(made.poll_once(), 500);
    made.stop();
    EXPECT_LT(lines_with(" failed, attempt 1"), 400U);
    EXPECT_TRUE(logged(" lines about its work"));
}

TEST_P(WorkerLogTest, a_worker_that_cannot_do_anything_logs_it) {
    make_workflow();
    auto made = worker("w")
                    .handle("job", [](Context&) {})
                    .subscribe("billing.")
                    .discover("nowhere.")
                    .create(store());
    EXPECT_TRUE(contains(log_text(), "none of its handlers is below the prefix 'billing.'"));
    EXPECT_TRUE(contains(log_text(), "discover(\"nowhere.\") found no workflow"));
    EXPECT_TRUE(contains(log_text(), "pawl_link_workflows"));
    auto fits = worker("v").handle("job", [](Context&) {}).subscribe("jo").create(store());
    EXPECT_FALSE(logged("the prefix 'jo'"));
}

TEST_P(WorkerLogTest, an_interrupted_worker_logs_what_it_waits_for) {
    make_workflow();
    (void)trigger();
    std::latch begun(1);
    std::latch go(1);
    auto made = worker_for([&](Context& ctx) {
        ctx.step("stuck", [&] {
            begun.count_down();
            go.wait();
            return 1;
        });
    });
    std::jthread polling([&] { made.poll_forever(); });
    begun.wait();
    made.interrupt();
    EXPECT_TRUE(eventually([&] {
        return logged("waits for a handler that does not return: step 'stuck' of ");
    }));
    go.count_down();
}

TEST_P(WorkerLogTest, the_destructor_logs_what_it_waits_for) {
    make_workflow();
    const RunId run = trigger();
    std::latch begun(1);
    std::latch go(1);
    std::jthread release;
    {
        auto made = worker_for([&](Context& ctx) {
            ctx.step("stuck", [&] {
                begun.count_down();
                go.wait();
                return 1;
            });
        });
        made.start();
        begun.wait();
        release = std::jthread([&] {
            EXPECT_TRUE(eventually([&] {
                return logged("waits for a handler that does not return: step 'stuck' of ");
            }));
            go.count_down();
        });
    }
    EXPECT_TRUE(contains(
        log_text(),
        "abandoned at the stop's deadline: step 'stuck' of " + text_of(run) + ", running for"
    ));
}

}  // namespace
}  // namespace pawl::test
