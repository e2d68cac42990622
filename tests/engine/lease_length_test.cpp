// Heartbeats and hand-backs respect the leases that are held, independent of the worker's own
// lease.
#include <atomic>
#include <latch>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class LeaseLengthTest : public WorkflowTest {
protected:
    // No heartbeat is due during a test.
    [[nodiscard]] ConnectOptions options() const override {
        ConnectOptions options = WorkflowTest::options();
        options.lease = 1h;
        options.heartbeat = 20min;
        return options;
    }
    [[nodiscard]] bool is_extended(RunId run, Timestamp to, const std::string& name) const {
        return eventually([&] { return message_of(run, name)->visible_at == to; });
    }
};
PAWL_FOR_EACH_BACKEND(LeaseLengthTest);

TEST_P(LeaseLengthTest, a_lease_that_was_shortened_after_the_worker_began_is_extended_in_time) {
    freeze();
    make_workflow();
    std::latch started(1);
    std::latch go(1);
    auto made = worker_for([&](Context&) {
        started.count_down();
        go.wait();
    });
    made.start();
    make_workflow("job", {.lease = 5s});
    const RunId run = trigger();
    started.wait();
    for (int seconds = 1; seconds <= 2; ++seconds) {
        advance(1s);
        EXPECT_TRUE(is_extended(run, start + Duration(1s) * seconds + 5s, "job"));
    }
    go.count_down();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(status(run), RunStatus::success);
    EXPECT_EQ(info(run).delivery, 1);
}

TEST_P(LeaseLengthTest, so_is_the_lease_of_a_workflow_that_was_created_later) {
    freeze();
    std::latch started(1);
    std::latch go(1);
    auto made = worker("w")
                    .handle(
                        "billing.invoice",
                        [&](Context&) {
                            started.count_down();
                            go.wait();
                        }
                    )
                    .subscribe("billing.")
                    .create(store());
    made.start();
    make_workflow("billing.invoice", {.lease = 5s});
    const RunId run = trigger("billing.invoice");
    started.wait();
    advance(1s);
    EXPECT_TRUE(is_extended(run, start + 1s + 5s, "billing.invoice"));
    go.count_down();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(LeaseLengthTest, prefetched_messages_are_handed_back_before_their_lease_ends) {
    freeze();
    const Queue queue = make_queue("work", {.lease = 4s});
    constexpr int quick = 300;  // handlers that return immediately, so the worker prefetches
    const auto all = enqueue_many(queue, 2 * quick);
    std::latch started(1);
    std::latch go(1);
    std::atomic<int> handled = 0;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message&) {
                            if (++handled != quick) return;
                            started.count_down();
                            go.wait();
                        }
                    )
                    .concurrency(1)
                    .create(store());
    made.start();
    started.wait();
    EXPECT_TRUE(eventually([&] { return queue.stats().ready == quick; }));
    EXPECT_EQ(queue.stats().leased, 1) << "the one that is executed";
    for (std::size_t i = quick; i < all.size(); ++i) {
        EXPECT_EQ(queue.find(all[i])->strikes, 0) << "it was not started";
        EXPECT_LE(queue.find(all[i])->delivery, 1);
    }
    go.count_down();
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 2 * quick; }));
    EXPECT_EQ(handled, 2 * quick);
}

// A worker holds tasks by its own lease, which heartbeats extend.
TEST_P(LeaseLengthTest, the_registered_lease_does_not_depend_on_the_timeouts_of_tasks) {
    flow("flow").timeout(1s).step("a").step("b", {}, {.task_timeout = 2s}).create(store());
    const auto made = worker("w")
                          .flow(
                              "flow",
                              FlowHandlers().on("a", [](TaskContext&) { return 1; }
                              ).on("b", [](TaskContext&) { return 1; })
                          )
                          .create(store());
    EXPECT_EQ(store().worker_info(made.id()).lease, 1h);
}

}  // namespace
}  // namespace pawl::test
