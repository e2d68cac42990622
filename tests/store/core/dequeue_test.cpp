#include <algorithm>
#include <future>

#include "support/process.h"
#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class DequeueTest : public StoreTest {};
PAWL_FOR_EACH_BACKEND(DequeueTest);
using DequeueWakeupTest = WithoutPolling<DequeueTest>;
PAWL_FOR_EACH_BACKEND(DequeueWakeupTest);

TEST_P(DequeueTest, an_empty_queue_gives_nothing) {
    EXPECT_TRUE(take(make_queue(), 10).empty());
}

TEST_P(DequeueTest, a_message_is_delivered_with_a_lease) {
    freeze();
    const Queue queue = make_queue("work", {.lease = 7s});
    const MessageId id = queue.enqueue(Json{R"({"a":1})"});
    const Message message = take_one(queue);
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(message.queue, "work");
    EXPECT_EQ(message.delivery, 1);
    EXPECT_EQ(message.strikes, 1);
    EXPECT_EQ(message.state, MessageState::leased);
    EXPECT_EQ(message.enqueued_at, start);
    EXPECT_EQ(message.visible_at, start + 7s);
    EXPECT_EQ(message.payload.text, R"({"a":1})");
    EXPECT_FALSE(message.worker);
}

TEST_P(DequeueTest, the_lease_is_the_calls_or_the_queues_or_the_stores) {
    freeze();
    auto changed = options();
    changed.lease = 100s;
    const Store other = connect(place().url(), changed);
    enqueue_many(make_queue("plain"), 2);
    enqueue_many(make_queue("own", {.lease = 5s}), 2);
    EXPECT_EQ(take_one(store().queue("plain")).visible_at, start + 30s);
    EXPECT_EQ(take_one(other.queue("plain")).visible_at, start + 100s);
    EXPECT_EQ(take_one(other.queue("own")).visible_at, start + 5s);
    const auto asked = other.queue("own").dequeue({.max_messages = 1, .lease = 1s});
    EXPECT_EQ(asked.at(0).visible_at, start + 1s);
}

TEST_P(DequeueTest, the_highest_priority_comes_first_and_equal_ones_in_order_of_arrival) {
    const Queue queue = make_queue();
    std::vector<std::string> expected{"e", "b", "d", "a", "f", "c"};
    queue.enqueue(Json{"\"a\""}, {.priority = 0});
    queue.enqueue(Json{"\"b\""}, {.priority = 5});
    queue.enqueue(Json{"\"c\""}, {.priority = -2});
    queue.enqueue(Json{"\"d\""}, {.priority = 5});
    queue.enqueue(Json{"\"e\""}, {.priority = 9});
    queue.enqueue(Json{"\"f\""}, {.priority = 0});
    std::vector<std::string> got;
    for (const Message& message : take(queue, 4)) got.push_back(message.payload.text.substr(1, 1));
    for (const Message& message : take(queue, 4)) got.push_back(message.payload.text.substr(1, 1));
    EXPECT_EQ(got, expected);
}

TEST_P(DequeueTest, due_messages_are_merged_by_priority) {
    freeze();
    const Queue queue = make_queue();
    const MessageId low = queue.enqueue(Json{"1"}, {.priority = 1, .delay = 1s});
    const MessageId high = queue.enqueue(Json{"2"}, {.priority = 9, .delay = 1s});
    const MessageId ready = queue.enqueue(Json{"3"}, {.priority = 5});
    advance(1s);
    EXPECT_EQ(ids(take(queue, 2)), (std::vector{high, ready}));
    EXPECT_EQ(ids(take(queue, 2)), (std::vector{low}));
}

TEST_P(DequeueTest, no_more_than_requested_are_delivered) {
    const Queue queue = make_queue();
    enqueue_many(queue, 5);
    EXPECT_EQ(take(queue, 3).size(), 3U);
    EXPECT_EQ(take(queue, 3).size(), 2U);
    EXPECT_EQ(take(queue, 3).size(), 0U);
}

TEST_P(DequeueTest, impossible_requests_are_refused) {
    const Queue queue = make_queue();
    for (const DequeueOptions& bad :
         {DequeueOptions{.max_messages = 0},
          DequeueOptions{.max_messages = 10'001},
          DequeueOptions{.lease = 0ms},
          DequeueOptions{.wait = -1ms}}) {
        EXPECT_EQ(error_of([&] { (void)queue.dequeue(bad); }).code(), ErrorCode::invalid_argument);
    }
}

TEST_P(DequeueTest, two_consumers_never_get_the_same_message) {
    enqueue_many(make_queue(), 400);
    const auto drain = [&] {
        const Queue mine = open().queue("work");
        std::vector<MessageId> got;
        while (true) {
            const auto messages = take(mine, 7);
            if (messages.empty()) return got;
            for (const Message& message : messages) got.push_back(message.id);
        }
    };
    auto first = std::async(std::launch::async, drain);
    auto second = std::async(std::launch::async, drain);
    std::vector<MessageId> all = first.get();
    for (const MessageId id : second.get()) all.push_back(id);
    std::ranges::sort(all);
    EXPECT_EQ(std::ranges::adjacent_find(all), all.end());
    // Two concurrent claims may skip each other's rows; nothing is lost by that.
    for (const Message& message : take(store().queue("work"), 400)) all.push_back(message.id);
    EXPECT_EQ(all.size(), 400U);
}

TEST_P(DequeueTest, a_wait_ends_with_nothing_at_its_deadline) {
    const Queue queue = make_queue();
    const auto begun = std::chrono::steady_clock::now();
    EXPECT_TRUE(queue.dequeue({.max_messages = 1, .wait = 30ms}).empty());
    EXPECT_GE(std::chrono::steady_clock::now() - begun, 30ms) << "it has waited";
}

TEST_P(DequeueWakeupTest, a_wait_is_ended_by_an_enqueue_of_the_same_store) {
    const Queue queue = make_queue();
    std::jthread producer([&] {
        EXPECT_TRUE(waits_for_work(store()));
        queue.enqueue(Json{"1"});
    });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

TEST_P(DequeueWakeupTest, a_wait_is_ended_by_an_enqueue_of_another_store) {
    const Queue queue = make_queue();
    const Store other = open();
    std::jthread producer([&] {
        EXPECT_TRUE(waits_for_work(store()));
        other.queue("work").enqueue(Json{"1"});
    });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

TEST_P(DequeueWakeupTest, a_wait_is_ended_by_an_enqueue_of_another_process) {
    const Queue queue = make_queue();
    Process waiting = start_helper({"dequeue", place().url(), "work"});
    ASSERT_EQ(waiting.read_line(), "waiting");
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_EQ(waiting.read_line(), std::to_string(id.value()));
    EXPECT_EQ(waiting.wait(), 0);
}

TEST_P(DequeueWakeupTest, a_wait_ends_when_a_message_is_released) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    std::jthread releaser([&] {
        EXPECT_TRUE(waits_for_work(store()));
        open().queue("work").release(held);
    });
    const auto messages = queue.dequeue({.max_messages = 1, .wait = no_limit});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages.front().delivery, 2);
}

TEST_P(DequeueWakeupTest, a_wait_is_ended_by_the_time_of_a_delayed_message) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"}, {.delay = 50ms});
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

TEST_P(DequeueWakeupTest, a_wait_is_ended_when_the_clock_is_moved) {
    freeze();
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"}, {.delay = 1h});
    const Store other = open();
    std::jthread mover([&] {
        EXPECT_TRUE(waits_for_work(store()));
        testing::advance_clock(other, 1h);
    });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

}  // namespace
}  // namespace pawl::test
