// A connection that breaks at the worst moment: between the commit and its answer.
#include "support/gate.h"

#include <future>

#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class GateTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        gate_.emplace(port_of(test_server_url()));
        far_.emplace(connect(with_port(place().url(), gate_->port()), options()));
        make_queue();
        (void)far_->queue("work").info();
    }
    void TearDown() override {
        far_.reset();
        gate_.reset();
        StoreTest::TearDown();
    }
    Gate& gate() { return *gate_; }
    [[nodiscard]] Queue near() const { return store().queue("work"); }
    // The same queue through the gate.
    [[nodiscard]] Queue far() const { return far_->queue("work"); }
    [[nodiscard]] const Store& far_store() const { return *far_; }

private:
    std::optional<Gate> gate_;
    std::optional<Store> far_;
};
INSTANTIATE_TEST_SUITE_P(, GateTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(GateTest, an_enqueue_whose_answer_is_lost_is_in_doubt_and_not_repeated) {
    gate().lose_answer_to("enqueue_batch");
    const Error error = error_of([&] { far().enqueue(Json{"1"}); });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.in_doubt());
    EXPECT_EQ(gate().lost(), 1);
    EXPECT_EQ(near().stats().ready, 1) << "it had been committed, once";
}

TEST_P(GateTest, an_enqueue_whose_request_is_lost_is_in_doubt_too) {
    gate().lose_request("enqueue_batch");
    const Error error = error_of([&] { far().enqueue(Json{"1"}); });
    EXPECT_TRUE(error.in_doubt());
    EXPECT_EQ(near().stats().ready, 0);
}

TEST_P(GateTest, opening_a_tenant_is_retried_while_the_server_is_away) {
    gate().refuse_new_connections(true);
    auto opened = std::async(std::launch::async, [&] { return far_store().tenant("other"); });
    EXPECT_TRUE(eventually([&] { return contains(log_text(), "retrying"); }));
    gate().refuse_new_connections(false);
    EXPECT_EQ(opened.get().info().schema, "other");
}

TEST_P(GateTest, a_connection_that_died_while_idle_is_replaced_without_an_error) {
    far().enqueue(Json{"1"});
    gate().drop_connections();
    EXPECT_EQ(far().stats().ready, 1);
    gate().drop_connections();
    EXPECT_EQ(take(far()).size(), 1U);
}

TEST_P(GateTest, a_settle_whose_answer_is_lost_is_repeated_and_done) {
    enqueue_many(near(), 5);
    const auto held = take(far(), 5);
    gate().lose_answer_to("archive");
    EXPECT_EQ(far().archive(held[0]), Outcome::done);
    gate().lose_answer_to("delete");
    EXPECT_EQ(far().remove(held[1]), Outcome::done);
    gate().lose_answer_to("release");
    EXPECT_EQ(far().release(held[2], 1h), Outcome::done);
    gate().lose_answer_to("fail");
    EXPECT_EQ(far().fail(held[3], "no", 1h), Outcome::done);
    gate().lose_answer_to("extend");
    EXPECT_EQ(far().extend(held[4], 1h), Outcome::done);
    EXPECT_EQ(gate().lost(), 5);
    EXPECT_EQ(near().stats().archived, 1);
    EXPECT_EQ(near().stats().waiting, 2);
    EXPECT_EQ(near().stats().leased, 1);
    EXPECT_EQ(near().find(held[3].id)->attempts, 1) << "failed once, though it was sent twice";
}

TEST_P(GateTest, a_settle_whose_request_is_lost_is_repeated_and_done) {
    enqueue_many(near(), 2);
    const auto held = take(far(), 2);
    gate().lose_request("archive");
    EXPECT_EQ(far().archive(leases(held)), std::vector<Outcome>(2, Outcome::done));
    EXPECT_EQ(near().stats().archived, 2);
}

TEST_P(GateTest, the_seam_distinguishes_an_in_doubt_commit_from_a_failed_one) {
    enqueue_many(near(), 1);
    const Message held = take_one(far());
    const seam::Write write{held.lease(), seam::Archive{}};
    gate().lose_answer_to("archive");
    const Error error = error_of([&] {
        detail::Access::backend(far_store())->commit(std::span(&write, 1), seam::Attempt::first);
    });
    EXPECT_TRUE(error.in_doubt());
    EXPECT_TRUE(error.retryable());
    const auto outcome =
        detail::Access::backend(far_store())->commit(std::span(&write, 1), seam::Attempt::repeated);
    EXPECT_EQ(outcome.front().status, seam::WriteStatus::done);
}

TEST_P(GateTest, reads_are_repeated_without_doubt) {
    enqueue_many(near(), 1);
    gate().lose_answer_to("queue_stats");
    EXPECT_EQ(far().stats().ready, 1);
    EXPECT_EQ(gate().lost(), 1);
}

TEST_P(GateTest, a_worker_finishes_everything_over_a_line_that_breaks_all_the_time) {
    enqueue_many(near(), 60);
    auto made =
        worker("w").on_message("work", [](const Message&) {}).lease(500ms).create(far_store());
    made.start();
    for (const auto* text : {"archive", "claim", "archive", "heartbeat", "claim"}) {
        const int before = gate().lost();
        gate().lose_answer_to(text);
        near().enqueue(Json{"1"});
        EXPECT_TRUE(eventually([&] { return gate().lost() > before; })) << text;
    }
    gate().drop_connections();
    EXPECT_TRUE(eventually([&] { return near().stats().archived == 65; }));
    EXPECT_EQ(near().stats().dead, 0);
}

TEST_P(GateTest, calls_wait_while_the_server_is_away_and_continue_when_it_is_back) {
    gate().refuse_new_connections(true);
    gate().drop_connections();
    std::jthread repair([&] { gate().refuse_new_connections(false); });
    EXPECT_EQ(far().stats().ready, 0);
}

TEST_P(GateTest, calls_give_up_after_the_retry_timeout) {
    auto impatient = options();
    impatient.retry_timeout = 50ms;
    const Store other = connect(with_port(place().url(), gate().port()), impatient);
    gate().refuse_new_connections(true);
    gate().drop_connections();
    const Error error = error_of([&] { (void)other.queues(); });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.retryable());
    EXPECT_FALSE(error.in_doubt());
}

}  // namespace
}  // namespace pawl::test
