#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class UserTransactionTest : public StoreTest {};
PAWL_FOR_EACH_BACKEND(UserTransactionTest);
using UserTransactionWakeupTest = WithoutPolling<UserTransactionTest>;
PAWL_FOR_EACH_BACKEND(UserTransactionWakeupTest);

TEST_P(UserTransactionTest, the_message_exists_when_the_users_transaction_commits) {
    const Queue queue = make_queue();
    const auto mine = database();
    mine->begin();
    const MessageId id = queue.enqueue_in(mine->transaction(), Json{"1"}, {.priority = 4});
    EXPECT_TRUE(take(queue).empty()) << "nothing is visible before the commit";
    mine->run("commit");
    const Message message = take_one(queue);
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(message.priority, 4);
}

TEST_P(UserTransactionTest, a_transaction_that_rolls_back_enqueues_nothing) {
    const Queue queue = make_queue();
    const auto mine = database();
    mine->begin();
    queue.enqueue_in(mine->transaction(), Json{"1"});
    mine->run("rollback");
    EXPECT_EQ(queue.stats().ready, 0);
    EXPECT_TRUE(take(queue).empty());
}

TEST_P(UserTransactionTest, messages_commit_together_with_the_users_own_rows) {
    const Queue queue = make_queue();
    const auto mine = database();
    const std::string orders = on_postgres() ? place().schema() + ".orders" : "orders";
    mine->run("create table " + orders + " (id integer)");
    mine->begin();
    mine->run("insert into " + orders + " values (7)");
    const std::vector<NewMessage> batch(3, NewMessage{Json{"7"}, {}});
    EXPECT_EQ(queue.enqueue_in(mine->transaction(), batch).size(), 3U);
    mine->run("commit");
    EXPECT_EQ(queue.stats().ready, 3);
    EXPECT_EQ(mine->number("select count(*) from " + orders), 1);
}

TEST_P(UserTransactionWakeupTest, the_commit_wakes_a_waiting_dequeue) {
    const Queue queue = make_queue();
    const Store other = open();
    const auto mine = database();
    mine->begin();
    const MessageId id = queue.enqueue_in(mine->transaction(), Json{"1"});
    std::jthread committer([&] {
        EXPECT_TRUE(waits_for_work(other));
        mine->run("commit");
    });
    const auto messages = other.queue("work").dequeue({.max_messages = 1, .wait = no_limit});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages.front().id, id);
}

TEST_P(UserTransactionTest, a_connection_without_an_open_transaction_is_refused) {
    const Queue queue = make_queue();
    const auto mine = database();
    const Error error = error_of([&] { queue.enqueue_in(mine->transaction(), Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::wrong_transaction);
    EXPECT_EQ(queue.stats().ready, 0);
}

TEST_P(UserTransactionTest, a_connection_of_the_other_kind_is_refused) {
    const Queue queue = make_queue();
    sqlite3* const no_sqlite = nullptr;
    pg_conn* const no_postgres = nullptr;
    for (const Transaction& wrong : {Transaction(no_sqlite), Transaction(no_postgres)}) {
        EXPECT_EQ(
            error_of([&] { queue.enqueue_in(wrong, Json{"1"}); }).code(),
            ErrorCode::wrong_transaction
        );
    }
}

TEST_P(UserTransactionTest, an_unknown_queue_leaves_the_users_transaction_usable) {
    const Queue queue = make_queue();
    const auto mine = database();
    mine->begin();
    EXPECT_EQ(
        error_of([&] { store().queue("nowhere").enqueue_in(mine->transaction(), Json{"1"}); }
        ).code(),
        ErrorCode::queue_not_found
    );
    queue.enqueue_in(mine->transaction(), Json{"2"});
    mine->run("commit");
    EXPECT_EQ(take_one(queue).payload.text, "2");
}

TEST_P(UserTransactionTest, a_bad_payload_is_refused_before_anything_is_sent) {
    const Queue queue = make_queue();
    const auto mine = database();
    mine->begin();
    EXPECT_EQ(
        error_of([&] { queue.enqueue_in(mine->transaction(), Json{"{"}); }).code(),
        ErrorCode::invalid_payload
    );
    queue.enqueue_in(mine->transaction(), Json{"3"});
    mine->run("commit");
    EXPECT_EQ(queue.stats().ready, 1);
}

}  // namespace
}  // namespace pawl::test
