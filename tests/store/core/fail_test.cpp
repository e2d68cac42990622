#include "support/store_test.h"

namespace pawl::test {
namespace {

class FailTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        freeze();
    }
};
PAWL_FOR_EACH_BACKEND(FailTest);

TEST_P(FailTest, a_failed_message_is_delivered_again_after_its_delay_with_the_error) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.fail(take_one(queue), "no \"route\" 日本", 10s), Outcome::done);
    const auto waiting = queue.find(id);
    ASSERT_TRUE(waiting);
    EXPECT_EQ(waiting->state, MessageState::waiting);
    EXPECT_EQ(waiting->visible_at, start + 10s);
    EXPECT_EQ(waiting->attempts, 1);
    EXPECT_EQ(waiting->strikes, 0);
    EXPECT_EQ(waiting->last_error, "no \"route\" 日本");
    advance(9s);
    EXPECT_TRUE(take(queue).empty());
    advance(1s);
    const Message again = take_one(queue);
    EXPECT_EQ(again.attempts, 1);
    EXPECT_EQ(again.delivery, 2);
    EXPECT_EQ(again.strikes, 1);
    EXPECT_EQ(again.last_error, "no \"route\" 日本");
}

TEST_P(FailTest, a_failure_without_a_delay_makes_it_ready_immediately) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    queue.fail(take_one(queue), "no", {});
    EXPECT_EQ(take_one(queue).attempts, 1);
}

TEST_P(FailTest, at_max_attempts_it_is_a_dead_letter_with_the_last_error) {
    const Queue queue = make_queue("work", {.max_attempts = 3});
    const MessageId id = queue.enqueue(Json{"1"});
    for (int i = 1; i <= 3; ++i) queue.fail(take_one(queue), "error " + std::to_string(i), {});
    EXPECT_TRUE(take(queue).empty());
    EXPECT_FALSE(queue.find(id));
    const auto dead = queue.archived(ArchiveFilter::dead);
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_EQ(dead[0].attempts, 3);
    EXPECT_EQ(dead[0].reason, "failed 3 times: error 3");
}

TEST_P(FailTest, max_attempts_zero_means_no_limit) {
    const Queue queue = make_queue("work", {.max_attempts = 0});
    queue.enqueue(Json{"1"});
    for (int i = 0; i < 30; ++i) queue.fail(take_one(queue), "no", {});
    EXPECT_EQ(take_one(queue).attempts, 30);
}

TEST_P(FailTest, at_max_attempts_it_is_forwarded_to_the_dead_letter_queue) {
    const Queue graves = make_queue("graves");
    const Queue queue = make_queue("work", {.max_attempts = 1, .dead_letter_queue = "graves"});
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.fail(take_one(queue), "no route", 1h), Outcome::done);
    const Message forwarded = take_one(graves);
    EXPECT_EQ(forwarded.id, id);
    EXPECT_EQ(forwarded.attempts, 0);
    EXPECT_EQ(forwarded.last_error, "failed 1 times: no route");
}

TEST_P(FailTest, a_batch_of_failures_is_judged_message_by_message) {
    const Queue queue = make_queue("work", {.max_attempts = 2});
    const MessageId old = queue.enqueue(Json{"1"});
    queue.fail(take_one(queue), "first", {});
    enqueue_many(queue, 2);
    const auto held = take(queue, 3);
    ASSERT_EQ(held.size(), 3U);
    EXPECT_EQ(queue.fail(leases(held), "second", 5s), std::vector<Outcome>(3, Outcome::done));
    ASSERT_EQ(queue.archived(ArchiveFilter::dead).size(), 1U);
    EXPECT_EQ(queue.archived(ArchiveFilter::dead)[0].id, old);
    EXPECT_EQ(queue.stats().waiting, 2);
}

TEST_P(FailTest, a_long_error_is_kept) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    queue.fail(take_one(queue), std::string(100'000, 'x'), {});
    EXPECT_GE(queue.find(id)->last_error.size(), 1000U);
}

TEST_P(FailTest, an_error_text_that_is_not_utf8_does_not_lose_the_report) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.fail(take_one(queue), "caf\xe9 \xff", {}), Outcome::done);
    EXPECT_EQ(queue.find(id)->attempts, 1);
}

TEST_P(FailTest, an_error_text_with_a_zero_byte_does_not_lose_the_report) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_EQ(queue.fail(take_one(queue), std::string("a\0b", 3), {}), Outcome::done);
    EXPECT_EQ(queue.find(id)->attempts, 1);
}

}  // namespace
}  // namespace pawl::test
