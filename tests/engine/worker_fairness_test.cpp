// A worker claims what it can execute, reacts to operators, and no handler blocks the others.
#include <latch>
#include <pawl/json.h>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class WorkerFairnessTest : public WorkflowTest {};
PAWL_FOR_EACH_BACKEND(WorkerFairnessTest);

TEST_P(WorkerFairnessTest, a_handler_of_batches_does_not_take_more_of_the_other_queues) {
    make_queue("bulk");
    const Queue singles = make_queue("singles");
    enqueue_many(singles, 100);
    std::latch begun(1);
    std::latch go(1);
    auto made = worker("w")
                    .on_batch("bulk", 250, [](std::span<const Message>) {})
                    .on_message(
                        "singles",
                        [&](const Message& message) {
                            if (message.payload.text == "0") begun.count_down();
                            go.wait();
                        }
                    )
                    .concurrency(1)
                    .create(store());
    made.start();
    begun.wait();
    EXPECT_LE(singles.stats().leased, 2) << "the rest is for other workers";
    go.count_down();
    EXPECT_TRUE(eventually([&] { return singles.stats().archived == 100; }));
}

TEST_P(WorkerFairnessTest, a_worker_that_is_suspended_while_it_is_busy_takes_nothing_more) {
    const Queue queue = make_queue();
    enqueue_many(queue, 2);
    std::latch begun(1);
    std::latch go(1);
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message& message) {
                            if (message.payload.text == "0") begun.count_down();
                            go.wait();
                        }
                    )
                    .concurrency(1)
                    .create(store());
    made.start();
    begun.wait();
    made.suspend();
    go.count_down();
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 1; }));
    made.stop();
    EXPECT_EQ(queue.stats().ready, 1);
    EXPECT_EQ(take_one(queue).delivery, 1) << "it was not delivered before";
}

TEST_P(WorkerFairnessTest, a_worker_continues_when_the_store_reports_that_it_polls) {
    const Queue queue = make_queue();
    auto made =
        worker("w").on_message("work", [](const Message&) {}).heartbeat(20ms).create(store());
    made.start();
    open().transition_worker(made.id(), WorkerEvent::suspend);
    ASSERT_TRUE(eventually([&] { return made.status() == WorkerStatus::suspended; }));
    // As after a resume whose answer was lost.
    database()->run("update " + place().table("workers") + " set status = 'POLLING'");
    queue.enqueue(Json{"1"});
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 1; }));
    EXPECT_EQ(made.status(), WorkerStatus::polling);
}

TEST_P(WorkerFairnessTest, a_started_worker_is_not_polled_by_hand) {
    make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    made.start();
    EXPECT_EQ(error_of([&] { made.poll_once(); }).code(), ErrorCode::invalid_transition);
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::polling);
}

TEST_P(WorkerFairnessTest, a_slow_stop_callback_does_not_block_others) {
    make_workflow("slow");
    make_workflow("other");
    const RunId slow = trigger("slow");
    const RunId other = trigger("other");
    std::latch begun(2);
    std::latch called(1);
    std::latch go(1);
    std::atomic<bool> told = false;
    auto made = worker("w")
                    .handle(
                        "slow",
                        [&](Context& ctx) {
                            const std::stop_callback callback(ctx.stop_token(), [&] {
                                called.count_down();
                                go.wait();
                            });
                            begun.count_down();
                            go.wait();
                        }
                    )
                    .handle(
                        "other",
                        [&](Context& ctx) {
                            begun.count_down();
                            told = eventually([&] { return ctx.stop_token().stop_requested(); });
                        }
                    )
                    .heartbeat(50ms)
                    .create(store());
    made.start();
    begun.wait();
    open().cancel(slow, "not wanted");
    called.wait();
    open().cancel(other, "not wanted");
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    go.count_down();
    made.stop();
}

}  // namespace
}  // namespace pawl::test
