// A claim whose answer is lost: no handler got the messages that it leased.
#include <atomic>

#include "support/far_store_test.h"

namespace pawl::test {
namespace {

class LostClaimTest : public FarStoreTest {
protected:
    void SetUp() override {
        FarStoreTest::SetUp();
        freeze();  // no lease ends
    }
};
INSTANTIATE_TEST_SUITE_P(, LostClaimTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(LostClaimTest, its_runs_are_handed_back_without_a_strike) {
    make_workflow();
    const auto runs = trigger_many(3);
    std::atomic<int> most_strikes = 0;
    auto made = worker("w")
                    .handle(
                        "job",
                        [&](Context& ctx, int) {
                            most_strikes =
                                std::max(most_strikes.load(), message_of(ctx.run_id())->strikes);
                        }
                    )
                    .create(far());
    gate().lose_answer_to("claim_runs");
    made.start();
    for (const RunId run : runs) EXPECT_TRUE(finished(run));
    EXPECT_EQ(gate().lost(), 1);
    EXPECT_EQ(most_strikes, 1);
    for (const RunId run : runs) EXPECT_EQ(info(run).delivery, 2);
    EXPECT_TRUE(contains(log_text(), "handed back 3 messages of a claim whose answer was lost"));
}

TEST_P(LostClaimTest, poll_once_claims_its_runs_again) {
    make_workflow();
    const auto runs = trigger_many(3);
    auto made = worker("w").handle("job", [](Context&, int) {}).create(far());
    gate().lose_answer_to("claim_runs");
    EXPECT_EQ(made.poll_once(), 3);
    EXPECT_EQ(gate().lost(), 1);
    for (const RunId run : runs) EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(LostClaimTest, messages_held_by_handlers_are_not_handed_back) {
    const Queue queue = make_queue();
    enqueue_many(queue, 1);
    std::atomic<bool> begun = false;
    std::atomic<bool> go = false;
    auto made = worker("w")
                    .on_message(
                        "work",
                        [&](const Message&) {
                            begun = true;
                            (void)eventually([&] { return go.load(); });
                        }
                    )
                    .poll_interval(50ms)
                    .create(far());
    made.start();
    EXPECT_TRUE(eventually([&] { return begun.load(); }));
    gate().lose_answer_to("claim");
    EXPECT_TRUE(eventually([&] { return gate().lost() == 1; }));
    enqueue_many(queue, 1);
    EXPECT_TRUE(eventually([&] { return queue.stats().leased == 2; }));
    go = true;
    EXPECT_TRUE(eventually([&] { return queue.stats().archived == 2; }));
}

TEST_P(LostClaimTest, producers_do_not_wait_for_an_answer_without_an_end) {
    make_queue();
    ConnectOptions impatient = options();
    impatient.producer_timeout = 300ms;
    const Store store = connect(with_port(place().url(), gate().port()), impatient);
    (void)store.queues();
    gate().stall_at("enqueue_batch");
    const Error error = error_of([&] { store.queue("work").enqueue(Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.in_doubt());
    EXPECT_TRUE(contains(error.what(), "no answer within 300 ms"));
    EXPECT_TRUE(contains(error.what(), "check it before you repeat the call"));
}

}  // namespace
}  // namespace pawl::test
