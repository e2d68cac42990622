#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class QueuesTest : public StoreTest {};
PAWL_FOR_EACH_BACKEND(QueuesTest);
using QueuesWakeupTest = WithoutPolling<QueuesTest>;
PAWL_FOR_EACH_BACKEND(QueuesWakeupTest);

TEST_P(QueuesTest, a_new_queue_has_the_documented_defaults) {
    const QueueInfo info = make_queue("mail").info();
    EXPECT_TRUE(info.id);
    EXPECT_EQ(info.name, "mail");
    EXPECT_FALSE(info.paused);
    EXPECT_TRUE(info.keep_archive);
    EXPECT_FALSE(info.lease.has_value());
    EXPECT_EQ(info.max_strikes, 5);
    EXPECT_EQ(info.max_attempts, 25);
    EXPECT_EQ(info.dead_letter_queue, "");
}

TEST_P(QueuesTest, creating_a_queue_again_changes_only_the_options_given) {
    make_queue("graves");
    make_queue(
        "mail",
        {.keep_archive = false,
         .lease = 5s,
         .max_strikes = 3,
         .max_attempts = 7,
         .dead_letter_queue = "graves"}
    );
    const QueueInfo before = store().queue("mail").info();
    make_queue("mail");
    make_queue("mail", {.max_attempts = 9});
    const QueueInfo after = store().queue("mail").info();
    EXPECT_EQ(after.id, before.id);
    EXPECT_FALSE(after.keep_archive);
    EXPECT_EQ(after.lease, Duration(5s));
    EXPECT_EQ(after.max_strikes, 3);
    EXPECT_EQ(after.max_attempts, 9);
    EXPECT_EQ(after.dead_letter_queue, "graves");
    make_queue("mail", {.keep_archive = true, .dead_letter_queue = ""});
    EXPECT_TRUE(store().queue("mail").info().keep_archive);
    EXPECT_EQ(store().queue("mail").info().dead_letter_queue, "");
}

TEST_P(QueuesTest, creating_a_queue_again_keeps_its_messages) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    make_queue();
    EXPECT_EQ(queue.stats().ready, 1);
}

TEST_P(QueuesTest, queues_are_listed_by_name) {
    for (const auto* name : {"b", "c", "a"}) make_queue(name);
    std::vector<std::string> names;
    for (const QueueInfo& info : store().queues()) names.push_back(info.name);
    EXPECT_EQ(names, (std::vector<std::string>{"a", "b", "c"}));
}

TEST_P(QueuesTest, an_empty_queue_can_be_deleted) {
    make_queue("mail");
    store().delete_queue("mail");
    EXPECT_TRUE(store().queues().empty());
    EXPECT_EQ(error_of([&] { store().delete_queue("mail"); }).code(), ErrorCode::queue_not_found);
    EXPECT_EQ(
        error_of([&] { (void)store().queue("mail").info(); }).code(), ErrorCode::queue_not_found
    );
}

TEST_P(QueuesTest, a_queue_with_messages_is_not_deleted_unless_forced) {
    const Queue queue = make_queue("mail");
    queue.enqueue(Json{"1"}, {.delay = 1h});
    EXPECT_EQ(error_of([&] { store().delete_queue("mail"); }).code(), ErrorCode::queue_not_empty);
    EXPECT_EQ(queue.stats().waiting, 1);
    store().delete_queue("mail", DeleteMode::force);
    EXPECT_TRUE(store().queues().empty());
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(QueuesTest, a_queue_with_dead_letters_is_not_deleted_unless_forced) {
    const Queue queue = make_queue("mail", {.max_attempts = 1});
    queue.enqueue(Json{"1"});
    queue.fail(take_one(queue), "no route", {});
    ASSERT_EQ(queue.stats().dead, 1);
    EXPECT_EQ(error_of([&] { store().delete_queue("mail"); }).code(), ErrorCode::queue_not_empty);
    store().delete_queue("mail", DeleteMode::force);
    EXPECT_EQ(count(Rows::archive), 0);
}

TEST_P(QueuesTest, archived_messages_do_not_prevent_the_deletion_of_a_queue) {
    const Queue queue = make_queue("mail");
    queue.enqueue(Json{"1"});
    queue.archive(take_one(queue));
    store().delete_queue("mail");
    EXPECT_EQ(count(Rows::archive), 0);
}

TEST_P(QueuesTest, a_queue_created_again_under_the_same_name_has_another_id) {
    const QueueId first = make_queue("mail").info().id;
    store().delete_queue("mail");
    EXPECT_NE(make_queue("mail").info().id, first);
}

TEST_P(QueuesTest, deleting_a_dead_letter_queue_sends_dead_letters_to_the_archive_again) {
    make_queue("graves");
    const Queue queue = make_queue("mail", {.dead_letter_queue = "graves"});
    store().delete_queue("graves");
    EXPECT_EQ(queue.info().dead_letter_queue, "");
}

TEST_P(QueuesTest, purge_deletes_every_live_message_and_keeps_the_archive) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3);
    queue.archive(take_one(queue));
    const Message held = take_one(queue);
    queue.enqueue(Json{"9"}, {.delay = 1h});
    EXPECT_EQ(queue.purge(), 3);
    const QueueStats stats = queue.stats();
    EXPECT_EQ(stats.ready + stats.waiting + stats.leased, 0);
    EXPECT_EQ(stats.archived, 1);
    EXPECT_EQ(queue.archive(held), Outcome::lease_lost);
}

TEST_P(QueuesTest, purge_leaves_other_queues_alone) {
    enqueue_many(make_queue("other"), 2);
    enqueue_many(make_queue("work"), 2);
    EXPECT_EQ(store().queue("work").purge(), 2);
    EXPECT_EQ(store().queue("other").stats().ready, 2);
}

TEST_P(QueuesTest, a_paused_queue_takes_messages_and_hands_out_none_until_it_is_resumed) {
    const Queue queue = make_queue();
    queue.pause();
    const MessageId id = queue.enqueue(Json{"1"});
    EXPECT_TRUE(queue.info().paused);
    EXPECT_TRUE(queue.stats().paused);
    EXPECT_TRUE(take(queue).empty());
    queue.resume();
    EXPECT_EQ(take_one(queue).id, id);
}

TEST_P(QueuesTest, messages_delivered_before_the_pause_can_be_settled) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    const Message held = take_one(queue);
    queue.pause();
    EXPECT_EQ(queue.extend(held, 1h), Outcome::done);
    EXPECT_EQ(queue.archive(held), Outcome::done);
}

TEST_P(QueuesWakeupTest, resume_wakes_a_waiting_dequeue) {
    const Queue queue = make_queue();
    queue.pause();
    const MessageId id = queue.enqueue(Json{"1"});
    std::jthread resumer([&] {
        EXPECT_TRUE(waits_for_work(store()));
        open().queue("work").resume();
    });
    const auto messages = queue.dequeue({.max_messages = 1, .wait = no_limit});
    ASSERT_EQ(messages.size(), 1U);
    EXPECT_EQ(messages.front().id, id);
}

TEST_P(QueuesTest, operations_on_an_unknown_queue_say_so) {
    const Queue queue = store().queue("nowhere");
    const auto check = [](const auto& call) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::queue_not_found);
        EXPECT_TRUE(contains(error.what(), "'nowhere'"));
    };
    check([&] { queue.enqueue(Json{"1"}); });
    check([&] { (void)queue.dequeue(); });
    check([&] { (void)queue.info(); });
    check([&] { (void)queue.stats(); });
    check([&] { (void)queue.find(MessageId(1)); });
    check([&] { (void)queue.list(MessageState::ready); });
    check([&] { (void)queue.archived(); });
    check([&] { queue.pause(); });
    check([&] { queue.resume(); });
    check([&] { queue.purge(); });
    check([&] { queue.replay(MessageId(1)); });
    check([&] { queue.replay_dead(); });
    check([&] { queue.purge_archive(); });
    check([&] { make_queue("mail", {.dead_letter_queue = "nowhere"}); });
}

TEST_P(QueuesTest, bad_names_are_refused_and_make_nothing) {
    for (const std::string& name :
         {std::string(),
          std::string("."),
          std::string(".hidden"),
          std::string("a b"),
          std::string("a/b"),
          std::string("ä"),
          std::string("a\0b", 3),
          std::string(129, 'x'),
          std::string("a\n")}) {
        const Error error = error_of([&] { make_queue(name); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << name;
        EXPECT_TRUE(contains(error.what(), "invalid queue name"));
    }
    EXPECT_TRUE(store().queues().empty());
}

TEST_P(QueuesTest, every_allowed_character_may_stand_in_a_name) {
    for (const std::string& name :
         {std::string("A-z_0.9:x"), std::string(128, 'x'), std::string("-")})
        EXPECT_EQ(make_queue(name).info().name, name);
}

TEST_P(QueuesTest, bad_options_are_refused_and_change_nothing) {
    make_queue("mail", {.max_strikes = 3});
    const auto refused = [&](const QueueOptions& options) {
        EXPECT_EQ(
            error_of([&] { make_queue("mail", options); }).code(), ErrorCode::invalid_argument
        );
    };
    refused({.lease = 0ms});
    refused({.lease = -1s});
    refused({.max_strikes = 0});
    refused({.max_strikes = 1001});
    refused({.max_attempts = -1});
    refused({.dead_letter_queue = "mail"});
    refused({.dead_letter_queue = "not a name"});
    EXPECT_EQ(store().queue("mail").info().max_strikes, 3);
}

}  // namespace
}  // namespace pawl::test
