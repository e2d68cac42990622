// Leases while handlers run, stopping, and operators.
#include <atomic>
#include <latch>
#include <thread>

#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class WorkerLifecycleTest : public StoreTest {
protected:
    // A handler that signals its start and returns when it is released.
    struct Blocking {
        std::latch begun{1};
        std::latch go{1};
        std::atomic<bool> asked_to_stop = false;
        void operator()(HandlerContext& context) {
            begun.count_down();
            go.wait();
            asked_to_stop = context.stop_token().stop_requested();
        }
    };
    WorkerBuilder blocking_worker(Blocking& blocking) const {
        return worker("w").on_message("work", [&](HandlerContext& context) { blocking(context); });
    }
};
PAWL_FOR_EACH_BACKEND(WorkerLifecycleTest);

TEST_P(WorkerLifecycleTest, the_lease_is_extended_while_the_handler_runs) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    Blocking blocking;
    auto made = blocking_worker(blocking).heartbeat(20ms).create(store());
    made.start();
    blocking.begun.wait();
    const Queue seen = open().queue("work");
    EXPECT_TRUE(is_extended_twice([&] { return seen.find(id)->visible_at; }));
    EXPECT_EQ(seen.find(id)->state, MessageState::leased);
    EXPECT_EQ(seen.find(id)->delivery, 1);
    blocking.go.count_down();
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 1; }));
    EXPECT_FALSE(blocking.asked_to_stop);
}

TEST_P(WorkerLifecycleTest, a_handler_is_notified_when_its_lease_is_lost) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    std::latch begun(1);
    std::atomic<bool> told = false;
    std::atomic<bool> lost = false;
    const auto handler = [&](HandlerContext& context) {
        begun.count_down();
        told = eventually([&] { return context.stop_token().stop_requested(); });
        lost = context.lease_lost(context.message());
    };
    auto made = worker("w").on_message("work", handler).heartbeat(20ms).create(store());
    made.start();
    begun.wait();
    EXPECT_EQ(open().queue("work").purge(), 1);
    EXPECT_TRUE(eventually([&] { return told.load(); }));
    EXPECT_TRUE(eventually([&] { return lost.load(); }));
    made.stop();
    EXPECT_EQ(queue.stats().archived, 0) << "its result is fenced off";
}

TEST_P(WorkerLifecycleTest, stop_waits_for_running_handlers) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    Blocking blocking;
    auto made = blocking_worker(blocking).create(store());
    made.start();
    blocking.begun.wait();
    ASSERT_TRUE(worker_is_idle(store()));
    std::jthread release([&] {
        // stop() has begun when the claimer and the scheduler no longer wait.
        EXPECT_TRUE(eventually([&] {
            return detail::Access::backend(store())->wake_hub().waiters() == 0;
        }));
        blocking.go.count_down();
    });
    const StopReport report = made.stop(30s);
    EXPECT_EQ(report.stuck, 0);
    EXPECT_EQ(queue.stats().archived, 1);
    EXPECT_FALSE(blocking.asked_to_stop);
}

TEST_P(WorkerLifecycleTest, a_stuck_handler_is_reported_and_its_message_released) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    Blocking blocking;
    {
        auto made = blocking_worker(blocking).create(store());
        made.start();
        blocking.begun.wait();
        const StopReport report = made.stop(10ms);
        EXPECT_EQ(report.stuck, 1);
        EXPECT_EQ(queue.find(id)->state, MessageState::ready);
        EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::stopped);
        EXPECT_EQ(take_one(queue).delivery, 2) << "another worker continues immediately";
        blocking.go.count_down();
    }
    EXPECT_TRUE(blocking.asked_to_stop);
    EXPECT_EQ(queue.find(id)->state, MessageState::leased) << "the late result is fenced off";
    EXPECT_EQ(queue.stats().archived, 0);
}

TEST_P(WorkerLifecycleTest, messages_that_were_not_started_are_handed_back_without_a_strike) {
    const Queue queue = make_queue();
    const auto all = enqueue_many(queue, 4);
    Blocking blocking;
    std::atomic<int> runs = 0;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](HandlerContext& context) {
                            if (++runs == 1) blocking(context);
                        }
                    )
                    .concurrency(1)
                    .create(store());
    made.start();
    blocking.begun.wait();
    std::jthread release([&] { blocking.go.count_down(); });
    made.stop(30s);
    const QueueStats stats = queue.stats();
    EXPECT_EQ(stats.leased, 0);
    EXPECT_EQ(stats.ready + stats.archived, 4);
    for (const Message& message : queue.list(MessageState::ready)) EXPECT_EQ(message.strikes, 0);
}

TEST_P(WorkerLifecycleTest, stop_is_idempotent_and_legal_before_the_start) {
    make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    made.stop();
    made.stop();
    EXPECT_EQ(made.status(), WorkerStatus::stopped);
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::stopped);
}

TEST_P(WorkerLifecycleTest, poll_forever_returns_after_a_stop) {
    make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    std::jthread stopper([&] {
        EXPECT_TRUE(eventually([&] { return made.status() == WorkerStatus::polling; }));
        made.stop();
    });
    made.poll_forever();
    EXPECT_EQ(made.status(), WorkerStatus::stopped);
}

TEST_P(WorkerLifecycleTest, poll_forever_returns_after_an_interrupt) {
    make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    std::jthread stopper([&] {
        EXPECT_TRUE(eventually([&] { return made.status() == WorkerStatus::polling; }));
        made.interrupt();
    });
    made.poll_forever();
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::interrupted);
}

TEST_P(WorkerLifecycleTest, an_operator_suspends_and_resumes_it) {
    const Queue queue = make_queue();
    auto made =
        worker("w").on_message("work", [](const Message&) {}).heartbeat(20ms).create(store());
    made.start();
    const Store operator_store = open();
    operator_store.transition_worker(made.id(), WorkerEvent::suspend);
    ASSERT_TRUE(eventually([&] { return made.status() == WorkerStatus::suspended; }));
    queue.enqueue(Json{"1"});
    const Timestamp beat = operator_store.worker_info(made.id()).heartbeat_at;
    ASSERT_TRUE(eventually([&] {
        return operator_store.worker_info(made.id()).heartbeat_at > beat + 100ms;
    }));
    EXPECT_EQ(queue.stats().ready, 1) << "a suspended worker claims nothing";
    operator_store.transition_worker(made.id(), WorkerEvent::resume);
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 1; }));
    EXPECT_EQ(operator_store.worker_info(made.id()).status, WorkerStatus::polling);
}

TEST_P(WorkerLifecycleTest, an_operator_interrupts_poll_forever) {
    make_queue();
    auto made =
        worker("w").on_message("work", [](const Message&) {}).heartbeat(20ms).create(store());
    std::jthread operator_thread([&] {
        EXPECT_TRUE(eventually([&] { return made.status() == WorkerStatus::polling; }));
        open().transition_worker(made.id(), WorkerEvent::interrupt);
    });
    made.poll_forever();
    EXPECT_EQ(made.status(), WorkerStatus::interrupted);
}

TEST_P(WorkerLifecycleTest, an_operator_stops_poll_forever) {
    make_queue();
    auto made =
        worker("w").on_message("work", [](const Message&) {}).heartbeat(20ms).create(store());
    std::jthread operator_thread([&] {
        EXPECT_TRUE(eventually([&] { return made.status() == WorkerStatus::polling; }));
        open().transition_worker(made.id(), WorkerEvent::stop);
    });
    made.poll_forever();
    EXPECT_EQ(made.status(), WorkerStatus::stopped);
}

TEST_P(WorkerLifecycleTest, heartbeats_reach_the_store) {
    make_queue();
    auto made =
        worker("w").on_message("work", [](const Message&) {}).heartbeat(20ms).create(store());
    const Timestamp registered = store().worker_info(made.id()).heartbeat_at;
    EXPECT_TRUE(eventually([&] { return store().worker_info(made.id()).heartbeat_at > registered; })
    );
}

}  // namespace
}  // namespace pawl::test
