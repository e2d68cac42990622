#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class UserTransactionTest : public StoreTest {};
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, UserTransactionTest);
using UserTransactionWakeupTest = WithoutPolling<UserTransactionTest>;
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, UserTransactionWakeupTest);

TEST_P(UserTransactionTest, the_message_exists_when_the_users_transaction_commits) {
    const Queue queue = make_queue();
    const auto mine = kit().connect_user();
    mine->begin();
    const MessageId id = queue.enqueue_in(mine->transaction(), Json{"1"}, {.priority = 4});
    EXPECT_TRUE(take(queue).empty()) << "nothing is visible before the commit";
    mine->commit();
    const Message message = take_one(queue);
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(message.priority, 4);
}

TEST_P(UserTransactionTest, a_transaction_that_rolls_back_enqueues_nothing) {
    const Queue queue = make_queue();
    const auto mine = kit().connect_user();
    mine->begin();
    queue.enqueue_in(mine->transaction(), Json{"1"});
    mine->rollback();
    EXPECT_EQ(queue.stats().ready, 0);
    EXPECT_TRUE(take(queue).empty());
}

TEST_P(UserTransactionTest, messages_commit_together_with_the_users_own_rows) {
    const Queue queue = make_queue();
    const auto mine = kit().connect_user();
    kit().create_orders();
    mine->begin();
    mine->insert_order();
    const std::vector<NewMessage> batch(3, NewMessage{Json{"7"}, {}});
    EXPECT_EQ(queue.enqueue_in(mine->transaction(), batch).size(), 3U);
    EXPECT_EQ(kit().count_orders(), 0);
    mine->commit();
    EXPECT_EQ(queue.stats().ready, 3);
    EXPECT_EQ(kit().count_orders(), 1);
}

TEST_P(UserTransactionWakeupTest, the_commit_wakes_a_waiting_dequeue) {
    const Queue queue = make_queue();
    const Store other = open();
    const auto mine = kit().connect_user();
    mine->begin();
    const MessageId id = queue.enqueue_in(mine->transaction(), Json{"1"});
    std::jthread committer([&] {
        EXPECT_TRUE(waits_for_work(other));
        mine->commit();
    });
    const auto messages = other.queue("work").dequeue({.max_messages = 1, .wait = no_limit});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages.front().id, id);
}

TEST_P(UserTransactionTest, a_connection_without_an_open_transaction_is_refused) {
    const Queue queue = make_queue();
    const auto mine = kit().connect_user();
    const Error error = error_of([&] { queue.enqueue_in(mine->transaction(), Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::wrong_transaction);
    EXPECT_EQ(queue.stats().ready, 0);
}

TEST_P(UserTransactionTest, a_null_connection_of_any_kind_is_refused) {
    const Queue queue = make_queue();
    for (const BackendKind kind : backends_with(&StoreTraits::user_transactions)) {
        EXPECT_EQ(
            error_of([&] { queue.enqueue_in(traits_of(kind).null_transaction, Json{"1"}); }).code(),
            ErrorCode::wrong_transaction
        ) << kind;
    }
}

TEST_P(UserTransactionTest, an_unknown_queue_leaves_the_users_transaction_usable) {
    const Queue queue = make_queue();
    const auto mine = kit().connect_user();
    mine->begin();
    EXPECT_EQ(
        error_of([&] { store().queue("nowhere").enqueue_in(mine->transaction(), Json{"1"}); }
        ).code(),
        ErrorCode::queue_not_found
    );
    queue.enqueue_in(mine->transaction(), Json{"2"});
    mine->commit();
    EXPECT_EQ(take_one(queue).payload.text, "2");
}

TEST_P(UserTransactionTest, a_bad_payload_is_refused_before_anything_is_sent) {
    const Queue queue = make_queue();
    const auto mine = kit().connect_user();
    mine->begin();
    EXPECT_EQ(
        error_of([&] { queue.enqueue_in(mine->transaction(), Json{"{"}); }).code(),
        ErrorCode::invalid_payload
    );
    queue.enqueue_in(mine->transaction(), Json{"3"});
    mine->commit();
    EXPECT_EQ(queue.stats().ready, 1);
}

}  // namespace
}  // namespace pawl::test
