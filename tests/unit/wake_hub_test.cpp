#include "seam/wake_hub.h"

#include <atomic>
#include <gtest/gtest.h>
#include <thread>
#include <vector>

#include "base/literals.h"

namespace pawl::test {
namespace {

using seam::WakeHub;
using seam::WakeTopic;
using Clock = std::chrono::steady_clock;

const std::vector<WakeTopic> first_queue{QueueId(1)};
const std::vector<WakeTopic> two{QueueId(1), QueueId(2)};
Clock::time_point far_away() {
    return Clock::now() + 40s;
}

TEST(WakeHubTest, a_notification_after_the_ticket_ends_the_wait_immediately) {
    WakeHub hub;
    const auto ticket = hub.ticket();
    hub.notify(QueueId(1));
    EXPECT_TRUE(hub.wait(ticket, first_queue, far_away(), {}));
}

TEST(WakeHubTest, a_notification_before_the_ticket_does_not) {
    WakeHub hub;
    hub.notify(QueueId(1));
    EXPECT_FALSE(hub.wait(hub.ticket(), first_queue, Clock::now(), {}));
}

TEST(WakeHubTest, only_the_queues_waited_for_count) {
    WakeHub hub;
    const auto ticket = hub.ticket();
    hub.notify(QueueId(2));
    EXPECT_FALSE(hub.wait(ticket, first_queue, Clock::now(), {}));
    EXPECT_TRUE(hub.wait(ticket, two, far_away(), {}));
}

TEST(WakeHubTest, notify_all_wakes_everybody) {
    WakeHub hub;
    const auto ticket = hub.ticket();
    hub.notify_all();
    EXPECT_TRUE(hub.wait(ticket, first_queue, far_away(), {}));
    EXPECT_TRUE(hub.wait(ticket, {}, far_away(), {}));
}

TEST(WakeHubTest, an_observation_is_notified_of_its_topic_and_of_all) {
    WakeHub hub;
    int notified = 0;
    {
        const WakeHub::Observation observation(hub, QueueId(1), [&] { ++notified; });
        hub.notify(QueueId(2));
        EXPECT_EQ(notified, 0);
        hub.notify(QueueId(1));
        EXPECT_EQ(notified, 1);
        hub.notify_all();
        EXPECT_EQ(notified, 2);
    }
    hub.notify_all();
    EXPECT_EQ(notified, 2);
}

TEST(WakeHubTest, a_waiting_thread_is_woken) {
    WakeHub hub;
    const auto ticket = hub.ticket();
    std::jthread notifier([&] { hub.notify(QueueId(1)); });
    EXPECT_TRUE(hub.wait(ticket, first_queue, far_away(), {}));
}

TEST(WakeHubTest, each_of_several_waiting_threads_is_woken_by_its_own_queue) {
    WakeHub hub;
    const auto ticket = hub.ticket();
    std::atomic<int> woken = 0;
    std::vector<std::jthread> waiting;
    for (int queue = 1; queue <= 4; ++queue) {
        waiting.emplace_back([&, queue] {
            const std::vector<WakeTopic> mine{QueueId(queue)};
            if (hub.wait(ticket, mine, far_away(), {})) ++woken;
        });
    }
    for (int queue = 1; queue <= 4; ++queue) hub.notify(QueueId(queue));
    waiting.clear();
    EXPECT_EQ(woken, 4);
}

TEST(WakeHubTest, a_stop_ends_the_wait) {
    WakeHub hub;
    std::stop_source source;
    std::jthread stopper([&] { source.request_stop(); });
    EXPECT_FALSE(hub.wait(hub.ticket(), first_queue, far_away(), source.get_token()));
}

}  // namespace
}  // namespace pawl::test
