#include "support/store_test.h"

namespace pawl::test {
namespace {

class LookupsTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        freeze();
    }
};
PAWL_FOR_EACH_BACKEND(LookupsTest);

TEST_P(LookupsTest, get_finds_a_message_only_in_its_own_queue) {
    const MessageId id = make_queue("work").enqueue(Json{"1"});
    EXPECT_TRUE(store().queue("work").find(id));
    EXPECT_FALSE(make_queue("other").find(id));
    EXPECT_FALSE(store().queue("work").find(MessageId(id.value() + 1)));
    EXPECT_FALSE(store().queue("work").find(MessageId()));
}

TEST_P(LookupsTest, looking_takes_nothing) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    (void)queue.find(id);
    (void)queue.list(MessageState::ready);
    EXPECT_EQ(take_one(queue).delivery, 1);
}

TEST_P(LookupsTest, messages_are_listed_by_their_state_now) {
    const Queue queue = make_queue();
    const MessageId leased = queue.enqueue(Json{"1"});
    (void)take_one(queue);
    const MessageId waiting = queue.enqueue(Json{"2"}, {.delay = 1h});
    const MessageId ready = queue.enqueue(Json{"3"});
    EXPECT_EQ(ids(queue.list(MessageState::leased)), std::vector{leased});
    EXPECT_EQ(ids(queue.list(MessageState::waiting)), std::vector{waiting});
    EXPECT_EQ(ids(queue.list(MessageState::ready)), std::vector{ready});
    advance(1h);
    EXPECT_EQ(ids(queue.list(MessageState::ready)), (std::vector{leased, waiting, ready}));
    EXPECT_TRUE(queue.list(MessageState::waiting).empty());
    EXPECT_EQ(queue.list(MessageState::ready)[0].state, MessageState::ready);
}

TEST_P(LookupsTest, a_list_is_read_page_by_page_while_messages_come_and_go) {
    const Queue queue = make_queue();
    const auto all = enqueue_many(queue, 10);
    const auto first = ids(queue.list(MessageState::ready, {.after = {}, .limit = 4}));
    EXPECT_EQ(first, std::vector(all.begin(), all.begin() + 4));
    queue.remove(leases(take(queue, 5)));
    const auto second = ids(queue.list(MessageState::ready, {.after = first.back(), .limit = 4}));
    EXPECT_EQ(second, std::vector(all.begin() + 5, all.begin() + 9));
}

TEST_P(LookupsTest, impossible_pages_are_refused) {
    const Queue queue = make_queue();
    for (const int limit : {0, -1, 10'001}) {
        EXPECT_EQ(
            error_of([&] { (void)queue.list(MessageState::ready, {.after = {}, .limit = limit}); }
            ).code(),
            ErrorCode::invalid_argument
        );
    }
}

TEST_P(LookupsTest, stats_count_by_the_state_now) {
    const Queue queue = make_queue("work", {.max_attempts = 1});
    enqueue_many(queue, 6);
    const auto held = take(queue, 3);
    queue.archive(held[0]);
    queue.fail(held[1], "no", {});
    queue.enqueue(Json{"9"}, {.delay = 10s});
    QueueStats stats = queue.stats();
    EXPECT_EQ(stats.queue, "work");
    EXPECT_EQ(stats.ready, 3);
    EXPECT_EQ(stats.waiting, 1);
    EXPECT_EQ(stats.leased, 1);
    EXPECT_EQ(stats.archived, 1);
    EXPECT_EQ(stats.dead, 1);
    advance(30s);
    stats = queue.stats();
    EXPECT_EQ(stats.ready, 5);
    EXPECT_EQ(stats.waiting + stats.leased, 0);
}

TEST_P(LookupsTest, the_oldest_ready_age_counts_from_the_time_it_became_ready) {
    const Queue queue = make_queue();
    EXPECT_FALSE(queue.stats().oldest_ready_age.has_value());
    queue.enqueue(Json{"1"}, {.delay = 5s});
    EXPECT_FALSE(queue.stats().oldest_ready_age.has_value());
    advance(15s);
    EXPECT_EQ(queue.stats().oldest_ready_age, Duration(10s));
    queue.enqueue(Json{"2"});
    advance(1500ms);
    EXPECT_EQ(queue.stats().oldest_ready_age, Duration(11'500ms));
}

TEST_P(LookupsTest, the_store_adds_its_queues_up) {
    enqueue_many(make_queue("a"), 3);
    const Queue b = make_queue("b", {.max_attempts = 1});
    enqueue_many(b, 3);
    const auto held = take(b, 2);
    b.archive(held[0]);
    b.fail(held[1], "no", {});
    (void)take_one(b);
    b.enqueue(Json{"1"}, {.delay = 1h});
    const StoreStats stats = store().stats();
    EXPECT_EQ(stats.queues, 2);
    EXPECT_EQ(stats.ready, 3);
    EXPECT_EQ(stats.waiting, 1);
    EXPECT_EQ(stats.leased, 1);
    EXPECT_EQ(stats.archived, 1);
    EXPECT_EQ(stats.dead, 1);
    EXPECT_EQ(stats.workers_live + stats.workers_lost + stats.workers_stopped, 0);
    EXPECT_GE(stats.schema_version, 1);
    ASSERT_EQ(store().queue_stats().size(), 2U);
    EXPECT_EQ(store().queue_stats()[1].queue, "b");
}

}  // namespace
}  // namespace pawl::test
