#include <algorithm>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class SettleTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        freeze();
    }
    // A message whose first lease has ended and that was delivered again to `second`.
    struct Contested {
        Message stale;
        Message second;
    };
    Contested contested(const Queue& queue) const {
        queue.enqueue(Json{"1"});
        Message stale = take_one(queue);
        advance(31s);
        return {std::move(stale), take_one(queue)};
    }
};
PAWL_FOR_EACH_BACKEND(SettleTest);

TEST_P(SettleTest, an_archived_message_stays_readable) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"[1]"}, {.priority = 2});
    const Message held = take_one(queue);
    advance(1s);
    EXPECT_EQ(queue.archive(held), Outcome::done);
    EXPECT_FALSE(queue.find(id));
    const auto archived = queue.archived();
    ASSERT_EQ(archived.size(), 1U);
    EXPECT_EQ(archived[0].id, id);
    EXPECT_EQ(archived[0].queue, "work");
    EXPECT_FALSE(archived[0].dead);
    EXPECT_EQ(archived[0].reason, "");
    EXPECT_EQ(archived[0].delivery, 1);
    EXPECT_EQ(archived[0].priority, 2);
    EXPECT_EQ(archived[0].enqueued_at, start);
    EXPECT_EQ(archived[0].archived_at, start + 1s);
    EXPECT_EQ(archived[0].payload.text, "[1]");
}

TEST_P(SettleTest, a_queue_without_an_archive_keeps_nothing) {
    const Queue queue = make_queue("work", {.keep_archive = false});
    queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.archive(take_one(queue)), Outcome::done);
    EXPECT_TRUE(queue.archived().empty());
    EXPECT_EQ(queue.stats().leased, 0);
}

TEST_P(SettleTest, a_removed_message_leaves_no_trace) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.remove(take_one(queue)), Outcome::done);
    EXPECT_TRUE(queue.archived().empty());
    EXPECT_EQ(queue.stats().leased, 0);
}

TEST_P(SettleTest, a_released_message_is_ready_immediately_without_a_strike) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.release(take_one(queue)), Outcome::done);
    const Message again = take_one(queue);
    EXPECT_EQ(again.delivery, 2);
    EXPECT_EQ(again.strikes, 1);
    EXPECT_EQ(again.attempts, 0);
}

TEST_P(SettleTest, a_message_released_with_a_delay_is_ready_after_it) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.release(take_one(queue), 10s), Outcome::done);
    EXPECT_EQ(queue.find(id)->state, MessageState::waiting);
    EXPECT_EQ(queue.find(id)->visible_at, start + 10s);
    advance(9s);
    EXPECT_TRUE(take(queue).empty());
    advance(1s);
    EXPECT_EQ(take_one(queue).id, id);
}

TEST_P(SettleTest, an_extended_lease_ends_that_long_from_now) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    advance(20s);
    EXPECT_EQ(queue.extend(held, 30s), Outcome::done);
    EXPECT_EQ(queue.find(id)->visible_at, start + 50s);
    advance(29s);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.archive(held), Outcome::done);
}

TEST_P(SettleTest, an_ended_lease_can_be_settled_until_the_next_delivery) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    advance(1h);
    EXPECT_EQ(queue.extend(held, 30s), Outcome::done);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.archive(held), Outcome::done);
}

TEST_P(SettleTest, settling_twice_is_lease_lost) {
    const Queue queue = make_queue();
    enqueue_many(queue, 4);
    const auto held = take(queue, 4);
    EXPECT_EQ(queue.archive(held[0]), Outcome::done);
    EXPECT_EQ(queue.archive(held[0]), Outcome::lease_lost);
    EXPECT_EQ(queue.extend(held[0], 30s), Outcome::lease_lost);
    EXPECT_EQ(queue.remove(held[1]), Outcome::done);
    EXPECT_EQ(queue.archive(held[1]), Outcome::lease_lost);
    EXPECT_EQ(queue.release(held[2], 1h), Outcome::done);
    EXPECT_EQ(queue.archive(held[2]), Outcome::lease_lost);
    EXPECT_EQ(queue.fail(held[3], "no", 1h), Outcome::done);
    EXPECT_EQ(queue.release(held[3]), Outcome::lease_lost);
    EXPECT_EQ(queue.stats().archived, 1);
    EXPECT_EQ(queue.stats().waiting, 2);
}

TEST_P(SettleTest, a_stale_holder_cannot_write_anything) {
    const Queue queue = make_queue();
    const auto [stale, second] = contested(queue);
    ASSERT_EQ(second.delivery, stale.delivery + 1);
    EXPECT_EQ(queue.archive(stale), Outcome::lease_lost);
    EXPECT_EQ(queue.remove(stale), Outcome::lease_lost);
    EXPECT_EQ(queue.release(stale), Outcome::lease_lost);
    EXPECT_EQ(queue.release(stale, 1h), Outcome::lease_lost);
    EXPECT_EQ(queue.extend(stale, 1h), Outcome::lease_lost);
    EXPECT_EQ(queue.fail(stale, "late", {}), Outcome::lease_lost);
    const auto seen = queue.find(second.id);
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->state, MessageState::leased);
    EXPECT_EQ(seen->delivery, second.delivery);
    EXPECT_EQ(seen->visible_at, second.visible_at);
    EXPECT_EQ(seen->attempts, 0);
    EXPECT_EQ(seen->last_error, "");
    EXPECT_EQ(queue.archive(second), Outcome::done);
}

TEST_P(SettleTest, a_stale_holder_can_do_nothing_after_the_second_one_has_settled) {
    const Queue queue = make_queue();
    const auto [stale, second] = contested(queue);
    EXPECT_EQ(queue.archive(second), Outcome::done);
    EXPECT_EQ(queue.archive(stale), Outcome::lease_lost);
    EXPECT_EQ(queue.remove(stale), Outcome::lease_lost);
    EXPECT_EQ(queue.fail(stale, "late", {}), Outcome::lease_lost);
    EXPECT_EQ(queue.archived().size(), 1U);
}

TEST_P(SettleTest, a_holder_stays_fenced_when_its_message_is_replayed) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    const Message first = take_one(queue);
    EXPECT_EQ(queue.archive(first), Outcome::done);
    queue.replay(id);
    EXPECT_EQ(queue.archive(first), Outcome::lease_lost) << "it is ready, and has no holder";
    const Message second = take_one(queue);
    EXPECT_EQ(second.id, id);
    EXPECT_EQ(second.delivery, 2);
    EXPECT_EQ(queue.archive(first), Outcome::lease_lost);
    EXPECT_EQ(queue.archive(second), Outcome::done);
    EXPECT_EQ(queue.archived().front().delivery, 2);
}

TEST_P(SettleTest, an_invented_lease_is_lost) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    const std::vector<Lease> invented{
        {id, 0},
        {id, 1},
        {id, 2},
        {MessageId(id.value() + 1000), 1},
        {MessageId(0), 0},
        {MessageId(-1), -1}};
    EXPECT_EQ(queue.archive(invented), std::vector<Outcome>(6, Outcome::lease_lost));
    EXPECT_EQ(queue.extend(invented, 1s), std::vector<Outcome>(6, Outcome::lease_lost));
    EXPECT_EQ(queue.stats().ready, 1);
}

TEST_P(SettleTest, a_batch_has_one_outcome_for_each_in_the_order_given) {
    const Queue queue = make_queue();
    enqueue_many(queue, 4);
    auto held = leases(take(queue, 4));
    std::ranges::reverse(held);
    const std::vector<Lease> batch{held[0], {held[1].message, 9}, held[2], held[3]};
    const std::vector<Outcome> mixed{
        Outcome::done, Outcome::lease_lost, Outcome::done, Outcome::done};
    EXPECT_EQ(queue.extend(batch, 40s), mixed);
    EXPECT_EQ(queue.release(std::span(batch).last(1), 1h), std::vector{Outcome::done});
    EXPECT_EQ(
        queue.archive(batch),
        (std::vector{Outcome::done, Outcome::lease_lost, Outcome::done, Outcome::lease_lost})
    );
    EXPECT_EQ(queue.stats().archived, 2);
}

TEST_P(SettleTest, the_same_lease_twice_in_a_batch_settles_once) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    const std::vector<Lease> twice(2, held.lease());
    EXPECT_EQ(queue.archive(twice).front(), Outcome::done);
    EXPECT_EQ(queue.stats().archived, 1);
    EXPECT_EQ(queue.stats().leased, 0);
}

TEST_P(SettleTest, an_empty_batch_has_no_outcomes) {
    EXPECT_TRUE(make_queue().archive(std::span<const Lease>()).empty());
}

TEST_P(SettleTest, a_large_batch_is_settled_as_one) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3000);
    const auto held = take(queue, 3000);
    ASSERT_EQ(held.size(), 3000U);
    EXPECT_EQ(queue.archive(leases(held)), std::vector<Outcome>(3000, Outcome::done));
    EXPECT_EQ(queue.stats().archived, 3000);
}

TEST_P(SettleTest, negative_times_are_refused) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    const auto refused = [](const auto& call) {
        EXPECT_EQ(error_of(call).code(), ErrorCode::invalid_argument);
    };
    refused([&] { queue.release(held, -1s); });
    refused([&] { queue.extend(held, -1s); });
    refused([&] { queue.fail(held, "", -1s); });
    EXPECT_EQ(queue.archive(held), Outcome::done);
}

}  // namespace
}  // namespace pawl::test
