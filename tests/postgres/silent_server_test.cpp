// A server that is reachable but does not answer: calls end, leases end on time, workers stop.
#include <atomic>
#include <latch>
#include <pawl/json.h>

#include "support/gate.h"
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class SilentServerTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        gate_.emplace(port_of(test_server_url()));
        ConnectOptions impatient = options();
        impatient.call_timeout = 300ms;
        impatient.connect_timeout = 5s;
        impatient.retry_timeout = 1s;
        far_.emplace(connect(with_port(place().url(), gate_->port()), impatient));
    }
    void TearDown() override {
        far_.reset();
        gate_.reset();
        WorkflowTest::TearDown();
    }
    Gate& gate() { return *gate_; }
    [[nodiscard]] const Store& far() const { return *far_; }
    void shut() { gate().stall_at(""); }

private:
    std::optional<Gate> gate_;
    std::optional<Store> far_;
};
INSTANTIATE_TEST_SUITE_P(
    , SilentServerTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(SilentServerTest, a_commit_without_an_answer_is_in_doubt_when_its_time_is_over) {
    make_queue();
    enqueue_many(store().queue("work"), 1);
    const Write write{take_one(far().queue("work")).lease(), seam::Archive{}};
    gate().stall_at("archive");
    const Error error = error_of([&] {
        (void)detail::Access::backend(far())->commit(std::span(&write, 1), Attempt::first);
    });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.retryable());
    EXPECT_TRUE(error.in_doubt());
    EXPECT_TRUE(contains(error.what(), "no answer within 300 ms")) << error.what();
    gate().flow_again();
    EXPECT_EQ(
        detail::Access::backend(far())
            ->commit(std::span(&write, 1), Attempt::repeated)
            .front()
            .status,
        WriteStatus::done
    );
}

TEST_P(SilentServerTest, a_claim_without_an_answer_may_be_asked_for_again) {
    make_queue();
    enqueue_many(store().queue("work"), 1);
    (void)far().queues();
    gate().stall_at("claim");
    const Error error = error_of([&] { (void)far().queue("work").dequeue(); });
    EXPECT_EQ(error.code(), ErrorCode::connection_failed);
    EXPECT_TRUE(error.retryable());
    EXPECT_FALSE(error.in_doubt());
    gate().flow_again();
    EXPECT_EQ(take(far().queue("work")).size(), 1U);
}

TEST_P(SilentServerTest, a_worker_behind_a_shut_line_gives_its_run_up_in_time_and_keeps_trying) {
    make_workflow("job", {.lease = 1s});
    std::latch started(1);
    std::atomic<bool> told = false;
    std::atomic<bool> cancelled = false;
    std::atomic<int> further = 0;
    auto made = worker("far")
                    .handle(
                        "job",
                        [&](Context& ctx, int input) {
                            const int value = ctx.step("first", [&] {
                                if (input == 1) return 1;
                                started.count_down();
                                told =
                                    eventually([&] { return ctx.stop_token().stop_requested(); });
                                cancelled = ctx.cancelled();
                                return 10;
                            });
                            if (input == 0) ++further;
                            return ctx.step("second", [&] { return value + 1; });
                        }
                    )
                    .share_threads(shares_threads())
                    .create(far());
    const RunId run = trigger("job", Json{"0"});
    made.start();
    started.wait();
    shut();
    ASSERT_TRUE(eventually([&] { return told.load(); })) << "though no heartbeat ever returns";
    EXPECT_TRUE(cancelled);

    // Another worker continues the run when its lease has ended.
    auto near =
        worker("near")
            .handle("job", [](Context& ctx, int) { return ctx.step("first", [] { return 20; }); })
            .create(store());
    near.start();
    ASSERT_TRUE(finished(run));
    near.stop();
    gate().flow_again();
    const RunId next = trigger("job", Json{"1"});
    EXPECT_TRUE(finished(next)) << "the worker behind the line is at work again";
    EXPECT_EQ(info(next).output, Json{"2"});
    EXPECT_EQ(info(next).worker, made.id());

    EXPECT_EQ(info(run).output, Json{"20"}) << "nothing of the first execution is recorded";
    EXPECT_EQ(step_ids(run), std::vector<std::string>{"first"});
    EXPECT_EQ(step(run, "first").output, Json{"20"});
    EXPECT_EQ(further, 0) << "it went no further";
}

TEST_P(SilentServerTest, a_worker_behind_a_shut_line_stops) {
    make_workflow("job", {.lease = 1s});
    std::latch started(1);
    auto made = worker("far")
                    .handle(
                        "job",
                        [&](Context& ctx) {
                            ctx.step("first", [&] {
                                started.count_down();
                                (void)eventually([&] { return ctx.stop_token().stop_requested(); });
                            });
                        }
                    )
                    .create(far());
    const RunId run = trigger();
    made.start();
    started.wait();
    shut();
    EXPECT_EQ(made.stop(10s).stuck, 0) << "the function ended when it was told";
    EXPECT_EQ(status(run), RunStatus::running);
}

// Notifications of one store, and the ways in which they fail to arrive.
class ListenTest : public StoreTest {
protected:
    void SetUp() override {
        StoreTest::SetUp();
        gate_.emplace(port_of(test_server_url()));
    }
    [[nodiscard]] Store far(const ConnectOptions& options) {
        return connect(with_port(place().url(), gate_->port()), options);
    }
    // Whether a wake-up of another process arrives within the limit.
    [[nodiscard]] bool hears(const Store& listening) {
        auto& hub = detail::Access::backend(listening)->wake_hub();
        return eventually([&] {
            const auto ticket = hub.ticket();
            store().queue("work").enqueue(Json{"1"});
            const seam::WakeTopic queue = store().queue("work").info().id;
            const auto deadline = std::chrono::steady_clock::now() + 100ms;
            return hub.wait(ticket, std::span(&queue, 1), deadline, {});
        });
    }
    std::optional<Gate> gate_;
};
INSTANTIATE_TEST_SUITE_P(, ListenTest, ::testing::Values(BackendKind::postgres), backend_name);

TEST_P(ListenTest, a_store_closes_while_listen_is_unanswered) {
    ConnectOptions patient = options();
    patient.call_timeout = std::chrono::hours(1);
    patient.connect_timeout = std::chrono::hours(1);
    std::optional<Store> closing = far(patient);
    gate_->stall_at("listen \"pawl");
    (void)detail::Access::backend(*closing)->wake_hub();
    ASSERT_TRUE(eventually([&] { return gate_->stalled() > 0; }));
    closing.reset();  // else the time limit of the test ends it
}

TEST_P(ListenTest, a_store_closes_while_the_listener_connects) {
    ConnectOptions patient = options();
    patient.connect_timeout = std::chrono::hours(1);
    std::optional<Store> closing = far(patient);
    gate_->stall_at("");
    (void)detail::Access::backend(*closing)->wake_hub();
    ASSERT_TRUE(eventually([&] { return gate_->stalled() > 0; }));
    closing.reset();
}

TEST_P(ListenTest, a_listening_connection_that_falls_silent_is_replaced) {
    make_queue();
    ConnectOptions quick = options();
    quick.heartbeat = 50ms;
    quick.call_timeout = 200ms;
    const Store listening = far(quick);
    ASSERT_TRUE(hears(listening));
    gate_->stall_at("pawl: probe");
    ASSERT_TRUE(eventually([&] { return gate_->stalled() > 0; }));
    gate_->flow_again();
    EXPECT_TRUE(hears(listening));
}

}  // namespace
}  // namespace pawl::test
