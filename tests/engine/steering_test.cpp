// Operations of others on a worker and its runs reach it without a heartbeat.
#include <latch>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SteeringTest : public WorkflowTest {
protected:
    // No heartbeat and no fallback poll is due during a test.
    template <class F>
    [[nodiscard]] Worker deaf_worker(F function) const {
        return worker("w")
            .handle("job", std::move(function))
            .lease(4h)
            .heartbeat(1h)
            .poll_interval(1h)
            .share_threads(shares_threads())
            .create(store());
    }
};
PAWL_FOR_EACH_BACKEND(SteeringTest);

TEST_P(SteeringTest, a_cancel_from_another_process_reaches_the_body_without_a_heartbeat) {
    make_workflow("job", {.lease = 4h});
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = deaf_worker([&](Context& ctx) {
        begun.count_down();
        told = eventually([&] { return ctx.stop_token().stop_requested(); }) && ctx.cancelled();
    });
    made.start();
    const RunId run = trigger();
    begun.wait();
    open().cancel(run, "not wanted");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    EXPECT_TRUE(made.stop(10s).stuck == 0);
}

TEST_P(SteeringTest, a_run_that_is_deleted_elsewhere_reaches_the_body_too) {
    make_workflow("job", {.lease = 4h});
    std::latch begun(1);
    std::atomic<bool> told = false;
    auto made = deaf_worker([&](Context& ctx) {
        begun.count_down();
        told = eventually([&] { return ctx.stop_token().stop_requested(); });
    });
    made.start();
    const RunId run = trigger();
    begun.wait();
    open().delete_run(run, "not wanted");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
}

TEST_P(SteeringTest, a_worker_obeys_an_operator_without_a_heartbeat) {
    make_workflow("job", {.lease = 4h});
    auto made = deaf_worker([](Context&) {});
    made.start();
    const auto becomes = [&](WorkerEvent event, WorkerStatus status) {
        open().transition_worker(made.id(), event);
        EXPECT_TRUE(eventually([&] { return made.status() == status; })) << to_string(event);
    };
    becomes(WorkerEvent::suspend, WorkerStatus::suspended);
    const RunId run = trigger();
    EXPECT_EQ(status(run), RunStatus::queued);
    becomes(WorkerEvent::resume, WorkerStatus::polling);
    EXPECT_TRUE(finished(run));
    becomes(WorkerEvent::stop, WorkerStatus::stopped);
}

TEST_P(SteeringTest, commits_of_others_cost_a_worker_no_heartbeats) {
    make_workflow("job", {.lease = 4h});
    std::latch begun(1);
    std::latch go(1);
    auto made = deaf_worker([&](Context&) {
        begun.count_down();
        go.wait();
    });
    made.start();
    (void)trigger();
    begun.wait();
    const auto beats = [&] {
        return database()->number("select beats from " + place().table("workers"));
    };
    const long before = beats();
    const Queue queue = open().create_queue("other");
    for (int i = 0; i < 50; ++i) queue.enqueue(Json{"1"});
    // On PostgreSQL, a listener that connects only now causes one heartbeat.
    EXPECT_LE(beats(), before + 1);
    go.count_down();
}

}  // namespace
}  // namespace pawl::test
