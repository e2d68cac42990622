#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class DeadLettersTest : public StoreTest {
protected:
    // `count` dead letters, each failed once.
    std::vector<MessageId> bury(const Queue& queue, int count) const {
        const auto ids = enqueue_many(queue, count);
        queue.fail(leases(take(queue, count)), "no route", {});
        return ids;
    }
    Queue mortal_queue() const { return make_queue("work", {.max_attempts = 1}); }
};
PAWL_FOR_EACH_BACKEND(DeadLettersTest);
using DeadLettersWakeupTest = WithoutPolling<DeadLettersTest>;
PAWL_FOR_EACH_BACKEND(DeadLettersWakeupTest);

TEST_P(DeadLettersTest, done_and_dead_are_listed_apart_and_together) {
    const Queue queue = mortal_queue();
    const auto dead = bury(queue, 2);
    const MessageId done = queue.enqueue(Json{"1"});
    queue.archive(take_one(queue));
    EXPECT_EQ(queue.archived(ArchiveFilter::dead).size(), 2U);
    ASSERT_EQ(queue.archived(ArchiveFilter::done).size(), 1U);
    EXPECT_EQ(queue.archived(ArchiveFilter::done)[0].id, done);
    EXPECT_EQ(queue.archived(ArchiveFilter::all).size(), 3U);
    EXPECT_EQ(queue.archived(ArchiveFilter::dead)[0].reason, "failed 1 times: no route");
}

TEST_P(DeadLettersTest, the_archive_is_read_page_by_page) {
    const Queue queue = mortal_queue();
    const auto dead = bury(queue, 7);
    std::vector<MessageId> seen;
    for (PageRequest page{.after = {}, .limit = 3};; page.after = seen.back()) {
        const auto rows = queue.archived(ArchiveFilter::dead, page);
        for (const ArchivedMessage& row : rows) seen.push_back(row.id);
        if (rows.size() < 3) break;
    }
    EXPECT_EQ(seen, dead);
}

TEST_P(DeadLettersTest, one_dead_letter_is_replayed_with_its_id_and_continues_its_deliveries) {
    const Queue queue = mortal_queue();
    const auto dead = bury(queue, 3);
    queue.replay(dead[1]);
    EXPECT_EQ(queue.stats().dead, 2);
    const Message again = take_one(queue);
    EXPECT_EQ(again.id, dead[1]);
    EXPECT_EQ(again.delivery, 2);
    EXPECT_EQ(again.strikes, 1);
    EXPECT_EQ(again.attempts, 0);
    EXPECT_EQ(again.payload.text, "1");
    EXPECT_EQ(queue.archive(again), Outcome::done);
    EXPECT_EQ(queue.archived(ArchiveFilter::done).size(), 1U);
}

TEST_P(DeadLettersTest, a_message_that_was_done_can_be_replayed_too) {
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    queue.archive(take_one(queue));
    queue.replay(id);
    EXPECT_TRUE(queue.archived().empty());
    EXPECT_EQ(take_one(queue).delivery, 2);
}

TEST_P(DeadLettersTest, all_dead_letters_are_replayed_and_what_was_done_stays) {
    const Queue queue = mortal_queue();
    const auto dead = bury(queue, 4);
    queue.enqueue(Json{"1"});
    queue.archive(take_one(queue));
    EXPECT_EQ(queue.replay_dead(), 4);
    EXPECT_EQ(queue.replay_dead(), 0);
    EXPECT_EQ(ids(take(queue, 10)), dead);
    EXPECT_EQ(queue.stats().archived, 1);
}

TEST_P(DeadLettersWakeupTest, a_replay_wakes_a_waiting_dequeue) {
    const Queue queue = mortal_queue();
    const auto dead = bury(queue, 1);
    std::jthread operator_thread([&] {
        EXPECT_TRUE(waits_for_work(store()));
        open().queue("work").replay_dead();
    });
    EXPECT_EQ(queue.dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

TEST_P(DeadLettersTest, replaying_what_is_not_in_the_archive_is_an_error) {
    const Queue queue = mortal_queue();
    const MessageId live = queue.enqueue(Json{"1"});
    for (const MessageId id : {live, MessageId(live.value() + 100), MessageId()})
        EXPECT_EQ(error_of([&] { queue.replay(id); }).code(), ErrorCode::message_not_found);
    EXPECT_EQ(queue.stats().ready, 1);
}

TEST_P(DeadLettersTest, a_message_is_replayed_only_through_its_own_queue) {
    const auto dead = bury(mortal_queue(), 1);
    const Queue other = make_queue("other");
    EXPECT_EQ(error_of([&] { other.replay(dead[0]); }).code(), ErrorCode::message_not_found);
    EXPECT_EQ(other.replay_dead(), 0);
}

TEST_P(DeadLettersTest, the_archive_is_purged_by_kind) {
    const Queue queue = mortal_queue();
    bury(queue, 3);
    queue.enqueue(Json{"1"});
    queue.archive(take_one(queue));
    EXPECT_EQ(queue.purge_archive(ArchiveFilter::done), 1);
    EXPECT_EQ(queue.purge_archive(ArchiveFilter::dead), 3);
    EXPECT_EQ(queue.purge_archive(), 0);
    EXPECT_TRUE(queue.archived().empty());
}

}  // namespace
}  // namespace pawl::test
