// Behind the real PgBouncer, in transaction mode and in session mode.
#include "support/process.h"
#include "support/store_test.h"
#include "support/without_polling.h"

namespace pawl::test {
namespace {

class PgbouncerTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        const Finished started =
            tool({"start", home_.file("bouncer"), place().server_url(), mode()});
        ASSERT_EQ(started.code, 0) << started.err;
        url_ = with_parameter(
            started.out.substr(0, started.out.find('\n')), "schema=" + place().schema()
        );
    }
    void TearDown() override {
        tool({"remove", home_.file("bouncer")});
        StoreTest::TearDown();
    }
    [[nodiscard]] virtual std::string mode() const { return "transaction"; }
    static Finished tool(std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), std::string(PAWL_SOURCE_DIR) + "/tools/pgbouncer.sh");
        return run(std::move(arguments));
    }
    [[nodiscard]] Store pooled() const {
        return connect(with_parameter(url_, "pooler=transaction"), options());
    }

    TempDirectory home_;
    std::string url_;
};
INSTANTIATE_TEST_SUITE_P(, PgbouncerTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(PgbouncerTest, the_queue_works_through_it) {
    const Store through = pooled();
    through.install();
    EXPECT_TRUE(through.verify().ok());
    const Queue queue = through.create_queue("work", {.max_attempts = 1});
    enqueue_many(queue, 10);
    const auto held = take(queue, 6);
    EXPECT_EQ(queue.archive(held[0]), Outcome::done);
    EXPECT_EQ(queue.remove(held[1]), Outcome::done);
    EXPECT_EQ(queue.release(held[2]), Outcome::done);
    EXPECT_EQ(queue.fail(held[3], "no", {}), Outcome::done);
    EXPECT_EQ(queue.extend(held[4], 1h), Outcome::done);
    EXPECT_EQ(queue.replay_dead(), 1);
    const QueueStats stats = queue.stats();
    EXPECT_EQ(stats.ready, 6);
    EXPECT_EQ(stats.leased, 2);
    EXPECT_EQ(stats.archived, 1);
}

TEST_P(PgbouncerTest, workers_work_through_it) {
    make_queue();
    const Store through = pooled();
    auto made = worker("w").on_message("work", [](const Message&) {}).lease(2s).create(through);
    made.start();
    enqueue_many(through.queue("work"), 100);
    EXPECT_TRUE(eventually([&] { return store().queue("work").stats().archived == 100; }));
    enqueue_many(store().queue("work"), 1);
    EXPECT_TRUE(eventually([&] { return store().queue("work").stats().archived == 101; }))
        << "found by polling: there is no wake-up";
}

TEST_P(PgbouncerTest, a_waiting_dequeue_finds_work_of_others_by_polling) {
    make_queue();
    const Store through = pooled();
    std::jthread producer([&] { store().queue("work").enqueue(Json{"1"}); });
    EXPECT_EQ(through.queue("work").dequeue({.max_messages = 1, .wait = 40s}).size(), 1U);
}

TEST_P(PgbouncerTest, several_stores_share_its_few_server_connections) {
    make_queue();
    const Store first = pooled();
    const Store second = pooled();
    std::jthread other([&] {
        for (int i = 0; i < 50; ++i) first.queue("work").enqueue(Json{"1"});
    });
    for (int i = 0; i < 50; ++i) second.queue("work").enqueue(Json{"1"});
    other.join();
    EXPECT_EQ(store().queue("work").stats().ready, 100);
}

TEST_P(PgbouncerTest, without_the_parameter_the_error_says_to_add_it) {
    const Error error = error_of([&] { (void)connect(url_, options()).queues(); });
    EXPECT_EQ(error.code(), ErrorCode::pooler_detected);
    EXPECT_TRUE(contains(error.what(), "pooler=transaction"));
}

class PgbouncerSessionTest : public WithoutPolling<PgbouncerTest> {
protected:
    [[nodiscard]] std::string mode() const override { return "session"; }
    [[nodiscard]] Store in_sessions() const {
        return connect(with_parameter(url_, "pooler=session"), options());
    }
};
INSTANTIATE_TEST_SUITE_P(
    , PgbouncerSessionTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(PgbouncerSessionTest, wake_ups_arrive_through_it) {
    make_queue();
    const Store through = in_sessions();
    std::jthread producer([&] {
        EXPECT_TRUE(waits_for_work(through));
        store().queue("work").enqueue(Json{"1"});
    });
    EXPECT_EQ(through.queue("work").dequeue({.max_messages = 1, .wait = no_limit}).size(), 1U);
}

TEST_P(PgbouncerSessionTest, workers_work_through_it) {
    make_queue();
    const Store through = in_sessions();
    auto made = worker("w").on_message("work", [](const Message&) {}).create(through);
    made.start();
    ASSERT_TRUE(worker_is_idle(through));
    enqueue_many(store().queue("work"), 100);
    EXPECT_TRUE(eventually([&] { return store().queue("work").stats().archived == 100; }));
}

}  // namespace
}  // namespace pawl::test
