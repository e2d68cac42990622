// The dispatcher: how it handles the results of a sink, alone and concurrently with others.
#include <atomic>
#include <condition_variable>
#include <semaphore>
#include <set>
#include <thread>

#include "support/outbox_test.h"

namespace pawl::test {
namespace {

class DispatcherTest : public OutboxStoreTest {
protected:
    [[nodiscard]] Dispatcher make(const Recorder& recorder, const DispatcherOptions& options = {})
        const {
        return dispatcher(store(), recorder.sink(), options);
    }
    int dispatch(const Recorder& recorder, const DispatcherOptions& options = {}) const {
        return make(recorder, options).dispatch_once();
    }
};
PAWL_FOR_EACH_BACKEND(DispatcherTest);

TEST_P(DispatcherTest, due_events_are_delivered_in_order_per_aggregate) {
    publish("a", 30);
    publish("b", 3);
    publish("", 2);
    const Recorder recorder;
    EXPECT_EQ(dispatch(recorder, {.batch = 8, .concurrency = 4}), 35);
    std::string expected;
    for (int i = 1; i <= 30; ++i) expected += fmt::format("{}a-{}", i == 1 ? "" : " ", i);
    EXPECT_EQ(recorder.types("a"), expected);
    EXPECT_EQ(recorder.types("b"), "b-1 b-2 b-3");
    EXPECT_EQ(listed({.status = OutboxStatus::pending}), "");
    EXPECT_EQ(dispatch(recorder), 0);
}

TEST_P(DispatcherTest, the_sink_gets_the_event_as_it_was_published) {
    const std::string id = store().publish({"paid", Json{"[1]"}, "order-1"});
    const Recorder recorder;
    dispatch(recorder);
    const OutboxEvent seen = recorder.seen().at(0);
    EXPECT_EQ(seen.event_id, id);
    EXPECT_EQ(seen.payload, Json{"[1]"});
    EXPECT_EQ(seen.attempts, 1);
    EXPECT_EQ(seen.created_at, start);
}

TEST_P(DispatcherTest, an_aggregate_stops_at_its_first_failure_and_the_others_continue) {
    publish("a", 3);
    publish("b", 3);
    const Recorder recorder;
    recorder.answer("a-2", try_again("the server answered 500"));
    EXPECT_EQ(dispatch(recorder), 4);
    EXPECT_EQ(recorder.types("a"), "a-1 a-2");
    EXPECT_EQ(recorder.types("b"), "b-1 b-2 b-3");
    EXPECT_EQ(event("a-2").last_error, "the server answered 500");
    EXPECT_EQ(event("a-3").attempts, 0) << "it was given back";
    const Timestamp again = event("a-2").visible_at.value();
    EXPECT_GE(again, start + 1s);
    EXPECT_LT(again, start + 1500ms) << "backoff with jitter";
    recorder.answer("a-2", {});
    advance(1500ms);
    EXPECT_EQ(dispatch(recorder), 2);
    EXPECT_EQ(recorder.types("a"), "a-1 a-2 a-2 a-3");
}

TEST_P(DispatcherTest, every_delivery_of_an_event_has_the_same_id) {
    publish("a", 1);
    const Recorder recorder;
    recorder.answer("a-1", try_again());
    for (int i = 0; i < 3; ++i) {
        dispatch(recorder);
        advance(10min);
    }
    std::set<std::string> ids;
    for (const OutboxEvent& seen : recorder.seen()) ids.insert(seen.event_id);
    EXPECT_EQ(recorder.seen().size(), 3U);
    EXPECT_EQ(ids.size(), 1U);
}

TEST_P(DispatcherTest, the_backoff_doubles_up_to_its_cap) {
    publish("a", 1);
    const Recorder recorder;
    recorder.answer("a-1", try_again());
    Timestamp now = start;
    for (const Duration base : {2s, 4s, 8s, 10s, 10s}) {
        dispatch(recorder, {.backoff_base = 2s, .backoff_cap = 10s});
        const auto wait = event("a-1").visible_at.value() - now;
        EXPECT_GE(wait, base);
        EXPECT_LE(wait, base * 3 / 2);
        now += 20s;
        advance(20s);
    }
}

TEST_P(DispatcherTest, failed_events_are_not_all_retried_at_the_same_time) {
    const Recorder recorder;
    for (int i = 0; i < 20; ++i) {
        publish("a" + std::to_string(i), 1);
        recorder.answer("a" + std::to_string(i) + "-1", try_again());
    }
    dispatch(recorder, {.backoff_base = 60s, .backoff_cap = 60s});
    std::set<Timestamp> times;
    for (int i = 0; i < 20; ++i)
        times.insert(event("a" + std::to_string(i) + "-1").visible_at.value());
    EXPECT_GT(times.size(), 10U) << "jitter";
}

TEST_P(DispatcherTest, the_sinks_own_delay_is_obeyed) {
    publish("a", 1);
    const Recorder recorder;
    recorder.answer("a-1", try_again("busy", 120s));
    dispatch(recorder);
    EXPECT_EQ(event("a-1").visible_at, start + 120s);
}

TEST_P(DispatcherTest, an_event_that_fails_too_often_is_parked_and_blocks_no_other) {
    publish("a", 2);
    const Recorder recorder;
    recorder.answer("a-1", try_again("no luck"));
    for (int i = 0; i < 3; ++i) {
        dispatch(recorder, {.max_attempts = 3});
        advance(10min);
    }
    EXPECT_EQ(recorder.types(), "a-1 a-1 a-1 a-2");
    EXPECT_EQ(event("a-1").status, OutboxStatus::parked);
    EXPECT_EQ(event("a-1").attempts, 3);
    EXPECT_EQ(event("a-1").last_error, "no luck");
    EXPECT_TRUE(contains(log_text(), "is parked after 3 attempts: no luck"));
    recorder.answer("a-1", {});
    store().retry_parked(event("a-1").id);
    EXPECT_EQ(dispatch(recorder, {.max_attempts = 3}), 1);
    EXPECT_EQ(event("a-1").status, OutboxStatus::published);
}

TEST_P(DispatcherTest, a_rejected_event_is_parked_immediately) {
    publish("a", 2);
    const Recorder recorder;
    recorder.answer("a-1", rejected("the server answered 400"));
    EXPECT_EQ(dispatch(recorder), 1);
    EXPECT_EQ(recorder.types(), "a-1 a-2");
    EXPECT_EQ(event("a-1").status, OutboxStatus::parked);
    EXPECT_EQ(event("a-1").last_error, "the server answered 400");
}

TEST_P(DispatcherTest, a_sink_that_throws_is_asked_again) {
    publish("a", 1);
    publish("b", 1);
    auto throwing = dispatcher(store(), [](const OutboxEvent& event) -> SinkResult {
        if (event.type == "b-1") throw 7;
        throw std::runtime_error("the disk is full");
    });
    EXPECT_EQ(throwing.dispatch_once(), 0);
    EXPECT_EQ(event("a-1").last_error, "the disk is full");
    EXPECT_EQ(event("b-1").status, OutboxStatus::pending);
    EXPECT_TRUE(contains(event("b-1").last_error, "not a std::exception"));
}

TEST_P(DispatcherTest, an_error_with_bytes_that_no_database_takes_is_kept_all_the_same) {
    publish("a", 1);
    const Recorder recorder;
    recorder.answer("a-1", try_again(std::string("bad \xff\0 bytes", 12)));
    dispatch(recorder);
    EXPECT_TRUE(contains(event("a-1").last_error, "bad "));
}

TEST_P(
    DispatcherTest, events_of_one_aggregate_are_delivered_one_at_a_time_and_aggregates_concurrently
) {
    for (const char* name : {"a", "b", "c"}) publish(name, 10);
    std::mutex mutex;
    std::condition_variable changed;
    std::multiset<std::string> inside;
    std::size_t most = 0;
    bool overlapped = false;
    auto several = dispatcher(
        store(),
        [&](const OutboxEvent& event) -> SinkResult {
            std::unique_lock lock(mutex);
            inside.insert(event.aggregate);
            overlapped = overlapped || inside.count(event.aggregate) > 1;
            most = std::max(most, inside.size());
            changed.notify_all();
            // The first ones wait for each other: three in parallel, or the test hangs.
            changed.wait_for(lock, 30s, [&] { return most == 3; });
            inside.erase(inside.find(event.aggregate));
            return {};
        },
        {.concurrency = 3}
    );
    EXPECT_EQ(several.dispatch_once(), 30);
    EXPECT_EQ(most, 3U);
    EXPECT_FALSE(overlapped);
}

TEST_P(DispatcherTest, dispatchers_that_race_deliver_each_event_once_and_in_order) {
    for (int i = 0; i < 10; ++i) publish("a" + std::to_string(i), 20);
    const Recorder recorder;
    {
        std::vector<std::jthread> racing;
        for (int i = 0; i < 3; ++i) {
            racing.emplace_back([&] {
                const Store mine = open();
                auto one = dispatcher(mine, recorder.sink(), {.batch = 7, .concurrency = 2});
                while (!store().outbox({.status = OutboxStatus::pending, .limit = 1}).empty())
                    one.dispatch_once();
            });
        }
    }
    EXPECT_EQ(recorder.seen().size(), 200U);
    for (int i = 0; i < 10; ++i) {
        const std::string aggregate = "a" + std::to_string(i);
        std::string expected;
        for (int n = 1; n <= 20; ++n)
            expected += fmt::format("{}{}-{}", n == 1 ? "" : " ", aggregate, n);
        EXPECT_EQ(recorder.types(aggregate), expected);
    }
}

TEST_P(DispatcherTest, a_started_one_delivers_what_is_published_here_and_elsewhere) {
    const Recorder recorder;
    auto running = make(recorder, {.poll_interval = 1h});
    running.start();
    running.start();
    publish("a", 1);
    EXPECT_TRUE(eventually([&] { return recorder.types() == "a-1"; }));
    open().publish({"b-1"});
    EXPECT_TRUE(eventually([&] { return recorder.types() == "a-1 b-1"; }));
    const auto mine = database();
    mine->begin();
    (void)store().publish_in(mine->transaction(), {"c-1"});
    mine->run("commit");
    EXPECT_TRUE(eventually([&] { return recorder.types() == "a-1 b-1 c-1"; }));
    running.stop();
    running.stop();
    publish("d", 1);
    EXPECT_EQ(event("d-1").status, OutboxStatus::pending);
    running.start();
    EXPECT_TRUE(eventually([&] { return event("d-1").status == OutboxStatus::published; }));
}

TEST_P(DispatcherTest, a_stop_in_the_sink_only_requests_the_stop) {
    publish("a", 3);
    Dispatcher* running = nullptr;
    std::atomic<int> delivered = 0;
    auto stopping = dispatcher(
        store(),
        [&](const OutboxEvent&) {
            ++delivered;
            running->stop();
            return SinkResult{};
        },
        {.concurrency = 2, .poll_interval = 1h}
    );
    running = &stopping;
    stopping.start();
    EXPECT_TRUE(eventually([&] { return event("a-1").status == OutboxStatus::published; }));
    stopping.stop();
    EXPECT_EQ(delivered, 1) << "the other events were given back";
    EXPECT_EQ(event("a-2").status, OutboxStatus::pending);
}

// The clock is stopped, so no lease expires, and no poll is due within the hour.
TEST_P(DispatcherTest, a_started_one_delivers_a_line_of_many_claims_without_a_pause) {
    publish_together("a", 300);
    publish_together("b", 120);
    const Recorder recorder;
    auto running = make(recorder, {.batch = 20, .poll_interval = 1h});
    running.start();
    EXPECT_TRUE(eventually([&] { return recorder.seen().size() == 420; }));
    running.stop();
    EXPECT_EQ(recorder.types("a"), in_order("a", 300));
    EXPECT_EQ(recorder.types("b"), in_order("b", 120));
    EXPECT_EQ(listed({.status = OutboxStatus::pending}), "");
}

TEST_P(DispatcherTest, the_rest_of_a_line_goes_to_another_dispatcher_when_its_holder_stops) {
    publish_together("a", 50);
    std::binary_semaphore inside{0};
    std::binary_semaphore let_go{0};
    auto first = dispatcher(
        store(),
        [&](const OutboxEvent&) -> SinkResult {
            inside.release();
            let_go.acquire();
            return {};
        },
        {.batch = 10, .concurrency = 1}
    );
    first.start();
    inside.acquire();
    const Recorder recorder;
    const Store other = open();
    auto second = dispatcher(other, recorder.sink(), {.poll_interval = 1h});
    second.start();
    // The second one has found the line leased, and waits.
    const auto postponed = [&] { return event("a-50").visible_at > start; };
    EXPECT_TRUE(eventually(postponed));
    std::jthread stopper([&] { first.stop(); });
    let_go.release();
    EXPECT_TRUE(eventually([&] {
        if (inside.try_acquire()) let_go.release();  // began before the stop was requested
        return listed({.status = OutboxStatus::pending}).empty();
    }));
    EXPECT_FALSE(recorder.seen().empty());
}

TEST_P(DispatcherTest, a_started_one_tries_again_when_the_time_has_come) {
    publish("a", 2);
    const Recorder recorder;
    recorder.answer("a-1", try_again("no", 30s));
    auto running = make(recorder, {.poll_interval = 1h});
    running.start();
    ASSERT_TRUE(eventually([&] { return event("a-1").last_error == "no"; }));
    recorder.answer("a-1", {});
    advance(30s);
    EXPECT_TRUE(eventually([&] { return event("a-2").status == OutboxStatus::published; }));
    EXPECT_EQ(recorder.types(), "a-1 a-1 a-2");
}

TEST_P(DispatcherTest, stop_waits_for_the_delivery_under_way_and_gives_the_rest_back) {
    publish("a", 3);
    std::mutex mutex;
    std::condition_variable changed;
    bool inside = false;
    bool let_go = false;
    auto running = dispatcher(store(), [&](const OutboxEvent&) -> SinkResult {
        std::unique_lock lock(mutex);
        inside = true;
        changed.notify_all();
        changed.wait(lock, [&] { return let_go; });
        return {};
    });
    running.start();
    {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return inside; });
    }
    // Nothing stays leased, whether the stop or the end of the delivery comes first.
    std::jthread stopper([&] { running.stop(); });
    {
        const std::lock_guard lock(mutex);
        let_go = true;
    }
    changed.notify_all();
    stopper.join();
    const auto left = store().outbox({.status = OutboxStatus::pending});
    EXPECT_EQ(event("a-1").status, OutboxStatus::published);
    for (const OutboxEvent& one : left) EXPECT_EQ(one.attempts, 0);
    EXPECT_EQ(claim_events().events.size(), left.size()) << "nothing stays leased";
}

TEST_P(DispatcherTest, events_of_a_crashed_dispatcher_are_claimed_again_when_its_lease_ends) {
    publish("a", 2);
    ASSERT_EQ(claim_events().events.size(), 2U) << "and then it died";
    const Recorder recorder;
    EXPECT_EQ(dispatch(recorder), 0);
    advance(60s);
    EXPECT_EQ(dispatch(recorder), 2);
    EXPECT_EQ(recorder.types(), "a-1 a-2");
    EXPECT_EQ(recorder.seen().front().attempts, 2);
}

TEST_P(DispatcherTest, a_delivery_that_outlives_its_lease_is_reported_and_changes_nothing) {
    publish("a", 1);
    auto slow = dispatcher(store(), [&](const OutboxEvent&) -> SinkResult {
        advance(61s);
        EXPECT_EQ(claim_events().events.size(), 1U) << "another dispatcher";
        return {};
    });
    slow.dispatch_once();
    EXPECT_EQ(event("a-1").status, OutboxStatus::pending);
    EXPECT_TRUE(contains(log_text(), "took longer than the dispatcher's lease of 60000 ms"));
}

TEST_P(DispatcherTest, a_worker_dispatches_events_in_addition_to_its_work) {
    make_workflow("job", {.publish = PublishLevel::ends});
    const Recorder recorder;
    auto mine = worker("w")
                    .handle("job", [](Context& ctx) { ctx.publish("made", Json{"1"}); })
                    .dispatch(recorder.sink())
                    .create(store());
    const RunId run = trigger();
    mine.poll_once();
    EXPECT_EQ(recorder.types(fmt::format("run:{}", run.value())), "made run.succeeded");
    mine.start();
    (void)trigger();
    EXPECT_TRUE(eventually([&] { return recorder.seen().size() == 4; }));
    mine.stop();
}

TEST_P(DispatcherTest, options_that_cannot_work_are_refused) {
    const auto code = [&](const DispatcherOptions& options) {
        return error_of([&] { (void)dispatcher(store(), Recorder().sink(), options); }).code();
    };
    EXPECT_EQ(code({.max_attempts = 0}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({.backoff_base = 2s, .backoff_cap = 1s}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({.lease = 0s}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({.batch = 0}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({.concurrency = 0}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({.poll_interval = 1ms}), ErrorCode::invalid_argument);
    EXPECT_EQ(
        error_of([&] { (void)dispatcher(store(), Sink{}); }).code(), ErrorCode::invalid_argument
    );
    make_workflow();
    EXPECT_EQ(
        error_of([&] {
            (void)worker("w")
                .handle("job", [](Context&) {})
                .dispatch(Recorder().sink(), {.batch = 0})
                .create(store());
        }).code(),
        ErrorCode::invalid_argument
    );
}

TEST_P(DispatcherTest, a_test_clock_is_refused_unless_it_is_accepted) {
    ConnectOptions strict = options();
    strict.accept_test_clock = false;
    const Store other = connect(place().url(), strict);
    const Error error = error_of([&] { (void)dispatcher(other, Recorder().sink()); });
    EXPECT_EQ(error.code(), ErrorCode::test_clock);
}

}  // namespace
}  // namespace pawl::test
