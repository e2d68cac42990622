// Tasks that take too long or are taken away, and workers that stop; on the real clock.
#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <pawl/json.h>
#include <thread>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

void wait_for_stop(const std::stop_token& stop) {
    std::mutex mutex;
    std::condition_variable_any stopped;
    std::unique_lock lock(mutex);
    stopped.wait(lock, stop, [] { return false; });
}

class FlowWorkerLifecycleTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        testing::restore_clock(store());
    }
    void make_single(const FlowStepOptions& options) const {
        flow("flow").step("a", {}, options).create(store());
    }
    template <class F>
    [[nodiscard]] WorkerBuilder worker_of(F function) const {
        return worker("w")
            .flow("flow", FlowHandlers().on("a", std::move(function)))
            .heartbeat(50ms)
            .share_threads(shares_threads());
    }
};
PAWL_FOR_EACH_BACKEND(FlowWorkerLifecycleTest);

// --- timeouts ---

TEST_P(FlowWorkerLifecycleTest, a_task_is_asked_to_stop_at_its_timeout_and_has_failed) {
    make_single({.max_attempts = 1, .task_timeout = 100ms});
    std::atomic<bool> lost = true;
    auto made = worker_of([&](TaskContext& context) {
                    wait_for_stop(context.stop_token());
                    lost = context.cancelled();
                    return 5;
                }).create(store());
    const RunId run = start_flow();
    made.start();
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(status(run), RunStatus::error) << "what it returned came too late";
    EXPECT_EQ(task(run, "a").error, "timeout: it took longer than 100 ms");
    EXPECT_FALSE(task(run, "a").output);
    EXPECT_FALSE(lost) << "its failure is still to be recorded";
}

TEST_P(FlowWorkerLifecycleTest, every_error_of_a_late_task_is_a_timeout) {
    make_single({.max_attempts = 2, .backoff_base = 1ms, .task_timeout = 100ms});
    std::atomic<int> calls = 0;
    auto made = worker_of([&](TaskContext& context) {
                    if (++calls == 2) return;
                    wait_for_stop(context.stop_token());
                    throw PermanentError("stopped");
                }).create(store());
    const RunId run = start_flow();
    made.start();
    ASSERT_TRUE(finished(run));
    EXPECT_EQ(status(run), RunStatus::success) << "a timeout is tried again";
    EXPECT_EQ(calls, 2);
    EXPECT_TRUE(contains(event_data(run, "task_retry"), "timeout"));
}

TEST_P(FlowWorkerLifecycleTest, a_task_that_does_not_return_is_reported_without_it) {
    make_single({.max_attempts = 1, .task_timeout = 50ms});
    std::latch go(1);
    std::atomic<bool> cancelled = false;
    auto made = worker_of([&](TaskContext& context) {
                    go.wait();
                    cancelled = context.cancelled();
                    return 5;
                }).create(store());
    const RunId run = start_flow();
    made.start();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(task(run, "a").error, "timeout: it took longer than 50 ms and did not return");
    EXPECT_EQ(task(run, "a").attempts, 1);
    go.count_down();
    made.stop();
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(task(run, "a").status, TaskStatus::error) << "its late result is fenced off";
}

// --- leases ---

TEST_P(FlowWorkerLifecycleTest, the_lease_is_extended_while_a_task_without_a_timeout_runs) {
    make_single({.task_timeout = 0s});
    std::latch begun(1);
    std::latch go(1);
    auto made = worker_of([&](TaskContext&) {
                    begun.count_down();
                    go.wait();
                    return 5;
                })
                    .lease(1min)
                    .heartbeat(20ms)
                    .create(store());
    const RunId run = start_flow();
    made.start();
    begun.wait();
    EXPECT_TRUE(is_extended_twice([&] { return message(task(run, "a").message)->visible_at; }));
    go.count_down();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(task(run, "a").attempts, 1);
}

// The timeout limits the execution; after a crash the worker's lease determines the delay.
TEST_P(FlowWorkerLifecycleTest, the_lease_of_a_task_with_a_timeout_is_the_workers_and_is_extended) {
    make_single({.task_timeout = 1h});
    std::latch begun(1);
    std::latch go(1);
    auto made = worker_of([&](TaskContext&) {
                    begun.count_down();
                    go.wait();
                    return 5;
                })
                    .lease(1min)
                    .heartbeat(20ms)
                    .create(store());
    const RunId run = start_flow();
    made.start();
    begun.wait();
    const auto lease_end = [&] { return message(task(run, "a").message)->visible_at; };
    EXPECT_LE(lease_end(), store().now() + 1min);
    EXPECT_TRUE(is_extended_twice(lease_end));
    go.count_down();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(task(run, "a").attempts, 1);
}

TEST_P(FlowWorkerLifecycleTest, a_task_whose_lease_was_lost_is_notified_and_reports_nothing) {
    make_single({.task_timeout = 0s});
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = worker_of([&](TaskContext& context) {
                    begun.count_down();
                    wait_for_stop(context.stop_token());
                    told = context.cancelled();
                    return 5;
                }).create(store());
    const RunId run = start_flow();
    made.start();
    begun.wait();
    EXPECT_EQ(open().complete_task({run, "a", 0}, Json{"6"}), TaskOutcome::done);
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    made.stop();
    EXPECT_EQ(output_of(run), R"({"a":6})");
}

// --- cancels ---

TEST_P(FlowWorkerLifecycleTest, a_cancel_reaches_a_running_task) {
    make_single({});
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = worker_of([&](TaskContext& context) {
                    begun.count_down();
                    wait_for_stop(context.stop_token());
                    told = context.cancelled();
                    return 5;
                }).create(store());
    const RunId run = start_flow();
    made.start();
    begun.wait();
    open().cancel(run, "not wanted");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    made.stop();
    EXPECT_EQ(status(run), RunStatus::cancelled);
    EXPECT_EQ(task(run, "a").status, TaskStatus::cancelled);
    EXPECT_FALSE(task(run, "a").output);
}

// By the wake-up: the next heartbeat is far in the future.
TEST_P(FlowWorkerLifecycleTest, a_cancel_in_the_same_process_arrives_immediately) {
    make_single({});
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = worker_of([&](TaskContext& context) {
                    begun.count_down();
                    wait_for_stop(context.stop_token());
                    told = context.cancelled();
                })
                    .heartbeat(10min)
                    .lease(1h)
                    .create(store());
    const RunId run = start_flow();
    made.start();
    begun.wait();
    store().cancel(run, "not wanted");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
}

TEST_P(FlowWorkerLifecycleTest, siblings_of_a_task_that_fails_the_run_are_notified) {
    flow("flow").step("a").step("b").create(store());
    std::latch begun(1);
    std::atomic<bool> told = false;
    FlowHandlers handlers;
    handlers.on("a", [&](TaskContext&) {
        begun.wait();
        throw PermanentError("no luck");
    });
    handlers.on("b", [&](TaskContext& context) {
        begun.count_down();
        wait_for_stop(context.stop_token());
        told = context.cancelled();
        return 5;
    });
    auto made = worker("w")
                    .flow("flow", handlers)
                    .heartbeat(50ms)
                    .share_threads(shares_threads())
                    .create(store());
    const RunId run = start_flow();
    made.start();
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    made.stop();
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task_states(run), "a.0 ERROR, b.0 CANCELLED");
}

// --- stopping ---

TEST_P(FlowWorkerLifecycleTest, stop_hands_back_what_was_not_started) {
    flow("flow").map("a").create(store());
    std::latch begun(1);
    std::latch go(1);
    std::atomic<int> calls = 0;
    auto made = worker_of([&](TaskContext&) {
                    if (++calls > 1) return;
                    begun.count_down();
                    go.wait();
                })
                    .concurrency(1)
                    .create(store());
    const RunId run = start_flow("[1, 2, 3, 4]");
    made.start();
    begun.wait();
    std::jthread release([&] { go.count_down(); });
    EXPECT_EQ(made.stop(30s).stuck, 0);
    for (const TaskInfo& info : store().run(run).tasks()) {
        if (info.status == TaskStatus::success) continue;
        EXPECT_EQ(info.status, TaskStatus::queued);
        EXPECT_EQ(info.attempts, 0) << "it was never started";
    }
    auto next =
        worker("w2").flow("flow", FlowHandlers().on("a", [](TaskContext&) {})).create(store());
    next.start();
    EXPECT_TRUE(finished(run));
}

TEST_P(FlowWorkerLifecycleTest, a_stuck_task_is_released_at_the_deadline) {
    make_single({.max_attempts = 1});
    std::latch begun(1);
    std::latch go(1);
    std::atomic<bool> asked = false;
    const RunId run = start_flow();
    {
        auto made = worker_of([&](TaskContext& context) {
                        begun.count_down();
                        go.wait();
                        asked = context.stop_token().stop_requested();
                        return 5;
                    }).create(store());
        made.start();
        begun.wait();
        EXPECT_EQ(made.stop(10ms).stuck, 1);
        EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
        EXPECT_EQ(task(run, "a").attempts, 0);
        const Task taken = poll_one();
        EXPECT_EQ(taken.attempts, 1) << "another worker continues immediately";
        go.count_down();
    }
    EXPECT_TRUE(asked);
    EXPECT_EQ(task(run, "a").status, TaskStatus::running) << "the late result is fenced off";
    EXPECT_EQ(task(run, "a").delivery, 2);
}

}  // namespace
}  // namespace pawl::test
