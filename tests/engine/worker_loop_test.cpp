// Handlers and the loop around them, in one process. Uses latches instead of sleeps.
#include <atomic>
#include <latch>
#include <pawl/json.h>
#include <set>
#include <thread>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class WorkerLoopTest : public StoreTest {
protected:
    [[nodiscard]] bool drained(const Queue& queue, std::int64_t archived) const {
        return eventually([&] { return queue.stats().archived == archived; });
    }
};
PAWL_FOR_EACH_BACKEND(WorkerLoopTest);

TEST_P(WorkerLoopTest, a_handler_that_returns_archives_its_message) {
    const Queue queue = make_queue();
    enqueue_many(queue, 50);
    std::mutex mutex;
    std::multiset<std::string> seen;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message& message) {
                            const std::lock_guard lock(mutex);
                            seen.insert(message.queue + message.payload.text);
                        }
                    )
                    .create(store());
    made.start();
    EXPECT_TRUE(drained(queue, 50));
    made.stop();
    EXPECT_EQ(seen.size(), 50U);
    EXPECT_EQ(seen.count("work49"), 1U);
    EXPECT_EQ(queue.archived().at(0).worker, made.id());
}

TEST_P(WorkerLoopTest, messages_that_arrive_later_are_found) {
    const Queue queue = make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    made.start();
    for (int i = 1; i <= 3; ++i) {
        open().queue("work").enqueue(Json{"1"});
        EXPECT_TRUE(drained(queue, i));
    }
}

TEST_P(WorkerLoopTest, a_batch_handler_gets_up_to_its_batch_size) {
    const Queue queue = make_queue("work", {.keep_archive = false});
    enqueue_many(queue, 25);
    std::mutex mutex;
    std::vector<std::size_t> sizes;
    const auto handler = [&](std::span<const Message> messages) {
        const std::lock_guard lock(mutex);
        sizes.push_back(messages.size());
    };
    auto made = worker("w").on_batch("work", 10, handler).concurrency(1).create(store());
    while (made.poll_once() > 0) continue;
    std::size_t total = 0;
    for (const std::size_t size : sizes) {
        EXPECT_LE(size, 10U);
        total += size;
    }
    EXPECT_EQ(total, 25U);
    EXPECT_EQ(sizes, (std::vector<std::size_t>{10, 10, 5}));
    EXPECT_EQ(queue.stats().leased + queue.stats().ready, 0);
}

TEST_P(WorkerLoopTest, a_typed_handler_gets_its_value) {
    const Queue queue = make_queue();
    queue.enqueue(std::vector<int>{1, 2, 3});
    std::vector<int> got;
    auto made = worker("w").on_message(
                               "work", [&](const std::vector<int>& value) { got = value; }
    ).create(store());
    EXPECT_EQ(made.poll_once(), 1);
    EXPECT_EQ(got, (std::vector{1, 2, 3}));
}

TEST_P(WorkerLoopTest, a_payload_of_another_type_is_a_dead_letter_immediately) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"\"text\""});
    auto made = worker("w").on_message("work", [](const int&) {}).create(store());
    EXPECT_EQ(made.poll_once(), 1);
    const auto dead = queue.archived(ArchiveFilter::dead);
    ASSERT_EQ(dead.size(), 1U);
    EXPECT_TRUE(contains(dead[0].reason, "permanent"));
}

TEST_P(WorkerLoopTest, poll_once_does_what_is_there_and_returns) {
    const Queue queue = make_queue();
    auto made =
        worker("w").on_message("work", [](const Message&) {}).concurrency(2).create(store());
    EXPECT_EQ(made.poll_once(), 0);
    enqueue_many(queue, 40);
    EXPECT_EQ(made.poll_once(), 40) << "not only as many as there are threads";
    EXPECT_EQ(queue.stats().archived, 40);
    EXPECT_EQ(made.poll_once(), 0);
    EXPECT_EQ(store().worker_info(made.id()).status, WorkerStatus::ready);
}

TEST_P(WorkerLoopTest, poll_once_takes_what_is_ready_of_all_its_handlers) {
    enqueue_many(make_queue("a"), 20);
    enqueue_many(make_queue("b"), 20);
    std::atomic<int> batches = 0;
    auto made = worker("w")
                    .on_message("a", [](const Message&) {})
                    .on_batch("b", 5, [&](std::span<const Message>) { ++batches; })
                    .concurrency(2)
                    .create(store());
    EXPECT_EQ(made.poll_once(), 40);
    EXPECT_GE(batches, 4);
    EXPECT_EQ(store().queue("a").stats().archived, 20);
    EXPECT_EQ(store().queue("b").stats().archived, 20);
}

TEST_P(WorkerLoopTest, messages_that_arrive_during_poll_once_do_not_extend_it) {
    const Queue queue = make_queue();
    std::atomic<int> executed = 0;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message&) {
                            ++executed;
                            queue.enqueue(Json{"1"});
                        }
                    )
                    .concurrency(2)
                    .create(store());
    enqueue_many(queue, 10);
    const int count = made.poll_once();
    EXPECT_GE(count, 10);
    EXPECT_EQ(count, executed);
    EXPECT_EQ(queue.stats().ready, 10) << "each has left one, and none is leased";
    EXPECT_EQ(queue.stats().leased, 0);
}

TEST_P(WorkerLoopTest, messages_that_poll_once_releases_are_left_for_the_next_call) {
    const Queue queue = make_queue();
    std::atomic<int> executed = 0;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](HandlerContext& context) {
                            ++executed;
                            context.release(context.message());
                        }
                    )
                    .concurrency(2)
                    .create(store());
    enqueue_many(queue, 2);
    EXPECT_EQ(made.poll_once(), 2);
    EXPECT_EQ(executed, 2);
    EXPECT_EQ(queue.stats().ready, 2);
    for (const Message& message : queue.list(MessageState::ready)) EXPECT_EQ(message.strikes, 0);
}

// Messages that arrive in the meantime with a higher priority must not hide those that were ready
// at the call.
TEST_P(WorkerLoopTest, poll_once_gets_past_what_arrives_with_a_higher_priority) {
    const Queue queue = make_queue();
    std::atomic<int> ready = 0;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message& message) {
                            if (message.priority > 0) return;
                            ++ready;
                            queue.enqueue(Json{"1"}, {.priority = 9});
                        }
                    )
                    .concurrency(1)
                    .create(store());
    enqueue_many(queue, 5);
    EXPECT_GE(made.poll_once(), 5) << "one that came with a ready one is executed, too";
    EXPECT_EQ(ready, 5);
    EXPECT_EQ(queue.stats().leased, 0);
    for (const Message& message : queue.list(MessageState::ready)) EXPECT_EQ(message.strikes, 0);
}

TEST_P(WorkerLoopTest, handlers_run_at_the_same_time) {
    const Queue queue = make_queue();
    enqueue_many(queue, 4);
    std::latch together(4);
    auto made = worker("w")
                    .on_message("work", [&](const Message&) { together.arrive_and_wait(); })
                    .concurrency(4)
                    .create(store());
    made.start();
    EXPECT_TRUE(drained(queue, 4)) << "each waits for the three others";
}

TEST_P(WorkerLoopTest, one_worker_serves_several_queues) {
    enqueue_many(make_queue("a"), 5);
    enqueue_many(make_queue("b"), 5);
    std::atomic<int> a = 0;
    std::atomic<int> b = 0;
    auto made = worker("w").on_message(
                               "a", [&](const Message&) { ++a; }
    ).on_batch("b", 2, [&](std::span<const Message> m) {
         b += static_cast<int>(m.size());
     }).create(store());
    made.start();
    EXPECT_TRUE(drained(store().queue("a"), 5));
    EXPECT_TRUE(drained(store().queue("b"), 5));
    EXPECT_EQ(a, 5);
    EXPECT_EQ(b, 5);
}

TEST_P(WorkerLoopTest, a_message_whose_handler_throws_is_released_and_the_loop_continues) {
    const Queue queue = make_queue();
    const auto all = enqueue_many(queue, 10);
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message& message) {
                            if (message.id == all[3]) throw std::runtime_error("no luck");
                        }
                    )
                    .backoff(1h, 1h)
                    .create(store());
    made.start();
    EXPECT_TRUE(drained(queue, 9));
    EXPECT_TRUE(eventually([&] { return queue.stats().waiting == 1; }));
    EXPECT_EQ(queue.find(all[3])->attempts, 1);
    EXPECT_EQ(queue.find(all[3])->last_error, "no luck");
    queue.enqueue(Json{"1"});
    EXPECT_TRUE(drained(queue, 10));
}

TEST_P(WorkerLoopTest, backoff_grows_with_the_attempts_and_has_jitter_up_to_a_half) {
    freeze();
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    auto made = worker("w")
                    .on_message("work", [](const Message&) { throw std::runtime_error("no"); })
                    .backoff(1s, 4s)
                    .create(store());
    for (const Duration raw : {1s, 2s, 4s, 4s}) {
        ASSERT_EQ(made.poll_once(), 1);
        const auto delay = queue.find(id)->visible_at - store().now();
        EXPECT_GE(delay, raw);
        EXPECT_LE(delay, raw * 3 / 2);
        advance(6s);
    }
}

TEST_P(WorkerLoopTest, a_transient_error_may_name_its_own_delay) {
    freeze();
    const Queue queue = make_queue();
    const MessageId id = queue.enqueue(Json{"1"});
    auto made =
        worker("w").on_message(
                       "work", [](const Message&) { throw TransientError("later", 42s); }
        ).create(store());
    made.poll_once();
    EXPECT_EQ(queue.find(id)->visible_at, start + 42s);
}

TEST_P(WorkerLoopTest, a_permanent_error_makes_a_dead_letter_immediately) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    auto made =
        worker("w").on_message(
                       "work", [](const Message&) { throw PermanentError("never"); }
        ).create(store());
    made.poll_once();
    ASSERT_EQ(queue.stats().dead, 1);
    EXPECT_TRUE(contains(queue.archived(ArchiveFilter::dead)[0].reason, "never"));
}

TEST_P(WorkerLoopTest, the_loop_continues_whatever_a_handler_throws) {
    const Queue queue = make_queue("work", {.max_attempts = 1});
    enqueue_many(queue, 4);
    auto made = worker("w")
                    .on_message(
                        "work",
                        [](const Message& message) {
                            if (message.payload.text == "0") throw 42;
                            if (message.payload.text == "1") throw std::runtime_error("caf\xe9");
                            if (message.payload.text == "2") throw std::runtime_error("");
                        }
                    )
                    .concurrency(1)
                    .create(store());
    made.start();
    EXPECT_TRUE(eventually([&] { return queue.stats().dead == 3 && queue.stats().archived == 1; }));
}

TEST_P(WorkerLoopTest, a_batch_handler_may_decide_for_single_messages) {
    const Queue queue = make_queue();
    const auto all = enqueue_many(queue, 4);
    auto made = worker("w")
                    .on_batch(
                        "work",
                        4,
                        [](HandlerContext& context) {
                            context.release(context.messages()[1], 1h);
                            context.fail(context.messages()[2], "bad one");
                        }
                    )
                    .backoff(1h, 1h)
                    .create(store());
    EXPECT_EQ(made.poll_once(), 4);
    EXPECT_EQ(queue.stats().archived, 2);
    EXPECT_EQ(queue.find(all[1])->attempts, 0);
    EXPECT_EQ(queue.find(all[1])->state, MessageState::waiting);
    EXPECT_EQ(queue.find(all[2])->attempts, 1);
    EXPECT_EQ(queue.find(all[2])->last_error, "bad one");
}

TEST_P(WorkerLoopTest, a_batch_handler_that_throws_gives_the_whole_batch_back) {
    const Queue queue = make_queue();
    enqueue_many(queue, 3);
    auto made =
        worker("w")
            .on_batch("work", 3, [](std::span<const Message>) { throw std::runtime_error("no"); })
            .backoff(1h, 1h)
            .create(store());
    EXPECT_EQ(made.poll_once(), 3);
    EXPECT_EQ(queue.stats().waiting, 3);
}

TEST_P(WorkerLoopTest, a_handler_cannot_decide_for_a_message_it_does_not_hold) {
    const Queue queue = make_queue();
    queue.enqueue(Json{"1"});
    std::optional<ErrorCode> refused;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](HandlerContext& context) {
                            Message other = context.message();
                            other.delivery += 1;
                            try {
                                context.release(other);
                            } catch (const Error& error) {
                                refused = error.code();
                            }
                        }
                    )
                    .create(store());
    made.poll_once();
    EXPECT_EQ(refused, ErrorCode::invalid_argument);
    EXPECT_EQ(queue.stats().archived, 1);
}

TEST_P(WorkerLoopTest, a_delayed_message_is_taken_when_its_time_comes) {
    const Queue queue = make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    made.start();
    queue.enqueue(Json{"1"}, {.delay = 100ms});
    EXPECT_TRUE(drained(queue, 1));
}

TEST_P(WorkerLoopTest, a_queue_deleted_and_created_again_is_served) {
    const Queue queue = make_queue();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(store());
    made.start();
    queue.enqueue(Json{"1"});
    ASSERT_TRUE(drained(queue, 1));
    store().delete_queue("work", DeleteMode::force);
    make_queue().enqueue(Json{"2"});
    EXPECT_TRUE(drained(queue, 1));
}

}  // namespace
}  // namespace pawl::test
