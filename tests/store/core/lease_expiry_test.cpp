#include "support/store_test.h"

namespace pawl::test {
namespace {

class LeaseExpiryTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        freeze();
    }
    // Dequeues a message and lets its lease end, `times` times.
    void let_expire(const Queue& queue, int times, int count = 1) const {
        for (int i = 0; i < times; ++i) {
            (void)take(queue, count);
            advance(31s);
        }
    }
};
PAWL_FOR_EACH_BACKEND(LeaseExpiryTest);

TEST_P(LeaseExpiryTest, a_leased_message_is_invisible_until_the_lease_ends) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    (void)take_one(queue);
    advance(29'999ms);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.find(id)->state, MessageState::leased);
    advance(1ms);
    EXPECT_EQ(queue.find(id)->state, MessageState::ready) << "an ended lease counts as ready";
    EXPECT_EQ(take_one(queue).id, id);
}

TEST_P(LeaseExpiryTest, each_delivery_has_a_higher_number_and_one_more_strike) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    for (int delivery = 1; delivery <= 5; ++delivery) {
        const Message message = take_one(queue);
        EXPECT_EQ(message.delivery, delivery);
        EXPECT_EQ(message.strikes, delivery);
        advance(31s);
    }
}

TEST_P(LeaseExpiryTest, after_max_strikes_the_message_is_a_dead_letter_with_a_reason) {
    const Queue queue = make_queue("work", {.max_strikes = 2});
    const MessageId id = queue.enqueue(Json{"1"});
    let_expire(queue, 2);
    EXPECT_TRUE(take(queue).empty());
    const auto dead = queue.archived(ArchiveFilter::dead);
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].id, id);
    EXPECT_TRUE(dead[0].dead);
    EXPECT_EQ(dead[0].delivery, 2);
    EXPECT_EQ(dead[0].strikes, 2);
    EXPECT_EQ(dead[0].reason, "poison: delivered 2 times without a report");
    EXPECT_EQ(queue.stats().dead, 1);
    EXPECT_EQ(queue.stats().archived, 0);
}

TEST_P(LeaseExpiryTest, the_default_is_five_strikes) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    let_expire(queue, 5);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.stats().dead, 1);
}

TEST_P(LeaseExpiryTest, a_dead_letter_is_kept_even_if_the_queue_keeps_no_archive) {
    const Queue queue = make_queue("work", {.keep_archive = false, .max_strikes = 1});
    queue.enqueue(Json{"1"});
    let_expire(queue, 1);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.stats().dead, 1);
}

TEST_P(LeaseExpiryTest, an_explicit_release_does_not_count) {
    const Queue queue = make_queue("work", {.max_strikes = 2});
    queue.enqueue(Json{"1"});
    for (int i = 0; i < 6; ++i) queue.release(take_one(queue));
    const Message message = take_one(queue);
    EXPECT_EQ(message.delivery, 7);
    EXPECT_EQ(message.strikes, 1);
}

TEST_P(LeaseExpiryTest, a_report_sets_the_strikes_back) {
    const Queue queue = make_queue("work", {.max_strikes = 3});
    queue.enqueue(Json{"1"});
    let_expire(queue, 2);
    queue.fail(take_one(queue), "no", {});
    advance(1ms);
    EXPECT_EQ(take_one(queue).strikes, 1);
}

TEST_P(LeaseExpiryTest, extending_a_lease_is_not_a_strike) {
    const Queue queue = make_queue("work", {.max_strikes = 1});
    queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    for (int i = 0; i < 5; ++i) {
        advance(20s);
        EXPECT_EQ(queue.extend(held, 30s), Outcome::done);
    }
    EXPECT_EQ(queue.archive(held), Outcome::done);
}

TEST_P(LeaseExpiryTest, a_message_with_two_strikes_is_delivered_alone) {
    const Queue queue = make_queue();
    const MessageId suspect = queue.enqueue(Json{"1"});
    let_expire(queue, 2);
    enqueue_many(queue, 5);
    EXPECT_EQ(ids(take(queue, 10)), std::vector{suspect});
    EXPECT_EQ(take(queue, 10).size(), 5U);
}

TEST_P(LeaseExpiryTest, two_suspects_are_delivered_one_by_one) {
    const Queue queue = make_queue();
    enqueue_many(queue, 2);
    let_expire(queue, 2, 2);
    EXPECT_EQ(take(queue, 10).size(), 1U);
    EXPECT_EQ(take(queue, 10).size(), 1U);
    EXPECT_EQ(take(queue, 10).size(), 0U);
}

TEST_P(LeaseExpiryTest, poison_does_not_affect_other_messages) {
    const Queue queue = make_queue("work", {.max_strikes = 1});
    queue.enqueue(Json{"\"poison\""});
    let_expire(queue, 1);
    const auto good = enqueue_many(queue, 3);
    EXPECT_EQ(ids(take(queue, 10)), good);
    EXPECT_EQ(queue.stats().dead, 1);
}

TEST_P(LeaseExpiryTest, dead_letters_are_forwarded_to_the_dead_letter_queue) {
    const Queue graves = make_queue("graves");
    const Queue queue = make_queue("work", {.max_strikes = 1, .dead_letter_queue = "graves"});
    const MessageId id = queue.enqueue(Json{"7"}, {.priority = 3});
    let_expire(queue, 1);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.stats().dead, 0);
    const Message forwarded = take_one(graves);
    EXPECT_EQ(forwarded.id, id);
    EXPECT_EQ(forwarded.delivery, 2);
    EXPECT_EQ(forwarded.strikes, 1);
    EXPECT_EQ(forwarded.attempts, 0);
    EXPECT_EQ(forwarded.payload.text, "7");
    EXPECT_TRUE(contains(forwarded.last_error, "poison"));
    EXPECT_EQ(graves.archive(forwarded), Outcome::done);
    EXPECT_EQ(graves.stats().archived, 1);
}

TEST_P(LeaseExpiryTest, the_first_holder_is_fenced_off_from_a_forwarded_message) {
    make_queue("graves");
    const Queue queue = make_queue("work", {.max_strikes = 1, .dead_letter_queue = "graves"});
    const MessageId id = queue.enqueue(Json{"7"});
    const Message held = take_one(queue);
    advance(31s);
    EXPECT_TRUE(take(queue).empty());
    EXPECT_EQ(queue.archive(held), Outcome::lease_lost);
    EXPECT_TRUE(store().queue("graves").find(id));
}

}  // namespace
}  // namespace pawl::test
