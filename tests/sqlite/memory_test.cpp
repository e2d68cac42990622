// :memory: uses exactly one connection for everything.
#include <gtest/gtest.h>
#include <pawl/pawl.h>
#include <pawl/testing.h>

#include "support/expect.h"

namespace pawl::test {
namespace {

TEST(MemoryTest, a_queue_lives_in_memory) {
    const Store store = connect("sqlite::memory:");
    store.install();
    EXPECT_TRUE(store.verify().ok());
    const Queue queue = store.create_queue("work");
    const MessageId id = queue.enqueue(Json{"1"});
    const auto held = queue.dequeue();
    ASSERT_EQ(held.size(), 1U);
    EXPECT_EQ(held[0].id, id);
    EXPECT_EQ(queue.archive(held[0]), Outcome::done);
    EXPECT_EQ(queue.stats().archived, 1);
}

TEST(MemoryTest, two_stores_in_memory_are_apart) {
    const Store first = connect("sqlite::memory:");
    const Store second = connect("sqlite::memory:");
    first.install();
    second.install();
    first.create_queue("work");
    EXPECT_TRUE(second.queues().empty());
}

TEST(MemoryTest, a_worker_works_in_memory) {
    const Store store = connect("sqlite::memory:");
    store.install();
    const Queue queue = store.create_queue("work");
    auto made = worker("w").on_message("work", [](const Message&) {}).heartbeat(10ms).create(store);
    made.start();
    for (int i = 0; i < 50; ++i) queue.enqueue(Json{"1"});
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 50; }));
    EXPECT_EQ(made.stop().stuck, 0);
}

TEST(MemoryTest, a_wait_is_ended_by_an_enqueue) {
    const Store store = connect("sqlite::memory:");
    store.install();
    const Queue queue = store.create_queue("work");
    std::jthread producer([&] { queue.enqueue(Json{"1"}); });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = 40s}).size(), 1U);
}

}  // namespace
}  // namespace pawl::test
