// Events in the outbox: publishing, claims and reports.
#include "support/outbox_test.h"

#include <set>

namespace pawl::test {
namespace {

using Kind = OutboxReport::Kind;

class OutboxTest : public OutboxStoreTest {
protected:
    [[nodiscard]] std::optional<Duration> outbox_lag() const {
        return detail::Access::backend(store())->backlog({}).outbox_lag;
    }
};
PAWL_FOR_EACH_BACKEND(OutboxTest);
class OutboxInTransactionTest : public OutboxTest {};
PAWL_FOR_EACH_BACKEND_WITH(user_transactions, OutboxInTransactionTest);

constexpr const char* trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST_P(OutboxTest, a_published_event_is_pending_with_all_it_was_given) {
    const std::string id = store().publish(
        {"invoice.paid", Json{R"({"n":1})"}, "invoice-42", "paid/42", std::string(trace)}
    );
    const OutboxEvent seen = event("invoice.paid");
    EXPECT_EQ(seen.event_id, id);
    EXPECT_EQ(id.size(), 36U);
    EXPECT_EQ(seen.payload, Json{R"({"n":1})"});
    EXPECT_EQ(seen.aggregate, "invoice-42");
    EXPECT_EQ(seen.subject, "paid/42");
    EXPECT_EQ(seen.traceparent, trace);
    EXPECT_EQ(seen.status, OutboxStatus::pending);
    EXPECT_EQ(seen.attempts, 0);
    EXPECT_EQ(seen.created_at, start);
    EXPECT_EQ(seen.visible_at, start);
    EXPECT_FALSE(seen.run);
    EXPECT_FALSE(seen.published_at);
}

TEST_P(OutboxTest, the_subject_is_the_aggregate_unless_one_is_given) {
    store().publish({"a", {}, "order-1"});
    store().publish({"b"});
    EXPECT_EQ(event("a").subject, "order-1");
    EXPECT_EQ(event("b").subject, "");
    EXPECT_EQ(event("b").payload, Json{"null"});
}

TEST_P(OutboxTest, an_invalid_event_is_refused_and_leaves_nothing) {
    const auto code = [&](const NewOutboxEvent& event) {
        return error_of([&] { store().publish(event); }).code();
    };
    EXPECT_EQ(code({""}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({std::string(256, 'x')}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({std::string("a\0b", 3)}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({"a", Json{"{"}}), ErrorCode::invalid_payload);
    EXPECT_EQ(
        code({"a", Json{"\"" + std::string(1024 * 1024, 'x') + "\""}}), ErrorCode::payload_too_large
    );
    EXPECT_EQ(code({"a", {}, std::string(1025, 'x')}), ErrorCode::invalid_argument);
    EXPECT_EQ(code({"a", {}, "", "", "00-1-2-3"}), ErrorCode::invalid_argument);
    EXPECT_EQ(listed(), "");
}

TEST_P(OutboxInTransactionTest, an_event_exists_exactly_when_the_users_transaction_commits) {
    const auto mine = kit().connect_user();
    mine->begin();
    (void)store().publish_in(mine->transaction(), {"undone", Json{"1"}, "x"});
    mine->rollback();
    EXPECT_EQ(listed(), "");
    mine->begin();
    const std::string id = store().publish_in(mine->transaction(), {"done", Json{"1"}, "x"});
    EXPECT_EQ(listed(), "");
    mine->commit();
    EXPECT_EQ(listed(), "done");
    EXPECT_EQ(event("done").event_id, id);
}

TEST_P(OutboxInTransactionTest, publishing_in_a_transaction_needs_an_open_one) {
    const auto mine = kit().connect_user();
    const Error error = error_of([&] { (void)store().publish_in(mine->transaction(), {"a"}); });
    EXPECT_EQ(error.code(), ErrorCode::wrong_transaction);
    EXPECT_EQ(listed(), "");
}

TEST_P(OutboxTest, lists_are_filtered_and_paged_oldest_first) {
    publish("a", 3);
    publish("b", 2);
    const auto first = claim_events(1).events.front();
    report(first, Kind::published);
    EXPECT_EQ(listed(), "a-1 a-2 a-3 b-1 b-2");
    EXPECT_EQ(listed({.status = OutboxStatus::published}), "a-1");
    EXPECT_EQ(listed({.status = OutboxStatus::pending}), "a-2 a-3 b-1 b-2");
    EXPECT_EQ(listed({.status = OutboxStatus::parked}), "");
    EXPECT_EQ(listed({.aggregate = "b"}), "b-1 b-2");
    EXPECT_EQ(listed({.aggregate = "a"}), "a-1 a-2 a-3") << "of every status";
    EXPECT_EQ(listed({.aggregate = "a", .after = first.event.id, .limit = 1}), "a-2");
    EXPECT_EQ(listed({.status = OutboxStatus::pending, .aggregate = "a"}), "a-2 a-3");
    EXPECT_EQ(listed({.type = "a-2", .aggregate = "a"}), "a-2");
    EXPECT_EQ(listed({.status = OutboxStatus::pending, .type = "a-1"}), "");
    EXPECT_EQ(listed({.type = "a-3"}), "a-3");
    EXPECT_EQ(listed({.run = RunId(7)}), "");
    EXPECT_EQ(listed({.limit = 2}), "a-1 a-2");
    EXPECT_EQ(listed({.after = event("a-2").id, .limit = 2}), "a-3 b-1");
    EXPECT_EQ(
        error_of([&] { (void)store().outbox({.limit = 0}); }).code(), ErrorCode::invalid_argument
    );
}

TEST_P(OutboxTest, a_claim_returns_each_aggregate_in_order_and_adjacent) {
    publish("a", 2);
    publish("b", 1);
    publish("a", 1, 3);
    publish("b", 1, 2);
    const OutboxClaim claim = claim_events();
    EXPECT_EQ(types(claim.events), "a-1 a-2 a-3 b-1 b-2");
    EXPECT_EQ(claim.now, start);
    EXPECT_EQ(claim.events.front().delivery, 1);
    EXPECT_EQ(claim.events.front().event.attempts, 1);
    EXPECT_EQ(claim.events.front().event.payload, Json{"1"});
    EXPECT_EQ(claim.next_due, start) << "there may be more";
    EXPECT_EQ(claim_events().next_due, start + 60s) << "the end of the leases";
}

TEST_P(OutboxTest, a_leased_aggregate_is_not_delivered_to_another_dispatcher) {
    publish("a", 3);
    publish("b", 1);
    EXPECT_EQ(claimed(100, 2), "a-1 a-2 b-1");
    publish("a", 1, 4);
    publish("c", 1);
    EXPECT_EQ(claimed(), "c-1") << "a-3 and a-4 wait for a-1 and a-2";
    EXPECT_EQ(claimed(), "");
}

TEST_P(OutboxTest, when_an_aggregate_is_reported_its_other_events_are_due_immediately) {
    publish("a", 4);
    const auto mine = claim_events(100, 2).events;
    EXPECT_EQ(claimed(), "") << "which moves a-3 and a-4 behind the lease";
    report(mine[0], Kind::published);
    EXPECT_EQ(claimed(), "");
    report(mine[1], Kind::published);
    EXPECT_EQ(claimed(), "a-3 a-4");
}

TEST_P(OutboxTest, events_without_an_aggregate_do_not_wait_for_others) {
    publish("", 3);
    const auto first = claim_events(1).events;
    ASSERT_EQ(types(first), "-1");
    EXPECT_EQ(claimed(), "-2 -3");
    report(first.front(), Kind::retry, "no", 10s);
    EXPECT_EQ(claimed(), "");
    advance(10s);
    EXPECT_EQ(claimed(), "-1");
}

TEST_P(OutboxTest, an_event_that_waits_for_its_next_try_holds_back_its_aggregate_only) {
    publish("a", 3);
    publish("b", 2);
    const auto mine = claim_events(100, 1).events;
    ASSERT_EQ(types(mine), "a-1 b-1");
    EXPECT_EQ(report(mine[0], Kind::retry, "the server answered 503", 30s), WriteStatus::done);
    report(mine[1], Kind::published);
    const OutboxEvent waiting = event("a-1");
    EXPECT_EQ(waiting.status, OutboxStatus::pending);
    EXPECT_EQ(waiting.last_error, "the server answered 503");
    EXPECT_EQ(waiting.visible_at, start + 30s);
    EXPECT_EQ(claimed(), "b-2");
    EXPECT_EQ(claim_events().next_due, start + 30s);
    advance(30s - 1ms);
    EXPECT_EQ(claimed(), "");
    advance(1ms);
    const auto again = claim_events().events;
    EXPECT_EQ(types(again), "a-1 a-2 a-3");
    EXPECT_EQ(again.front().event.attempts, 2);
    EXPECT_EQ(again.front().delivery, 2);
}

TEST_P(OutboxTest, a_parked_event_blocks_no_other_until_it_is_retried) {
    publish("a", 2);
    const auto mine = claim_events(100, 1).events;
    report(mine.front(), Kind::park, "no such customer");
    const OutboxEvent parked = event("a-1");
    EXPECT_EQ(parked.status, OutboxStatus::parked);
    EXPECT_EQ(parked.last_error, "no such customer");
    EXPECT_FALSE(parked.visible_at);
    EXPECT_EQ(listed({.status = OutboxStatus::parked}), "a-1");
    report(claim_events().events.front(), Kind::published);
    EXPECT_EQ(claimed(), "");
    EXPECT_EQ(store().retry_parked(parked.id), 1);
    EXPECT_EQ(event("a-1").attempts, 0);
    EXPECT_EQ(claimed(), "a-1");
}

TEST_P(OutboxTest, parked_events_are_retried_one_or_all) {
    publish("a", 1);
    publish("b", 1);
    publish("c", 1);
    for (const auto& delivery : claim_events().events) report(delivery, Kind::park, "no");
    EXPECT_EQ(store().retry_parked(event("b-1").id), 1);
    EXPECT_EQ(claimed(), "b-1");
    EXPECT_EQ(store().retry_parked(), 2);
    EXPECT_EQ(store().retry_parked(), 0);
    EXPECT_EQ(claimed(), "a-1 c-1");
    const Error error = error_of([&] { store().retry_parked(event("b-1").id); });
    EXPECT_EQ(error.code(), ErrorCode::outbox_event_not_found) << "it is not parked";
    EXPECT_EQ(
        error_of([&] { store().retry_parked(99'999); }).code(), ErrorCode::outbox_event_not_found
    );
}

// Such an event is inserted before one that is already leased.
TEST_P(OutboxTest, an_earlier_event_that_is_retried_waits_for_leased_later_ones) {
    publish("a", 3);
    const auto first = claim_events(100, 1).events;
    report(first.front(), Kind::park, "no");
    const auto second = claim_events(100, 1).events;
    ASSERT_EQ(types(second), "a-2");
    store().retry_parked();
    EXPECT_EQ(claimed(), "");
    report(second.front(), Kind::published);
    EXPECT_EQ(claimed(), "a-1 a-3");
}

TEST_P(OutboxTest, a_published_event_keeps_its_time_and_no_error) {
    publish("a", 1);
    report(claim_events().events.front(), Kind::retry, "no", 1s);
    advance(2s);
    EXPECT_EQ(report(claim_events().events.front(), Kind::published), WriteStatus::done);
    const OutboxEvent seen = event("a-1");
    EXPECT_EQ(seen.status, OutboxStatus::published);
    EXPECT_EQ(seen.published_at, start + 2s);
    EXPECT_EQ(seen.attempts, 2);
    EXPECT_EQ(seen.last_error, "");
    EXPECT_FALSE(seen.visible_at);
}

TEST_P(OutboxTest, a_released_event_counts_no_attempt_and_is_due_immediately) {
    publish("a", 2);
    for (const auto& delivery : claim_events().events) report(delivery, Kind::release);
    EXPECT_EQ(event("a-1").attempts, 0);
    const auto again = claim_events().events;
    EXPECT_EQ(types(again), "a-1 a-2");
    EXPECT_EQ(again.front().event.attempts, 1);
    EXPECT_EQ(again.front().delivery, 2);
}

TEST_P(OutboxTest, when_a_lease_ends_the_events_are_delivered_again_and_the_old_report_is_void) {
    publish("a", 2);
    publish("a", 1, 3);
    const auto late = claim_events(100, 2).events;
    EXPECT_EQ(claimed(), "");
    advance(60s);
    const auto again = claim_events().events;
    EXPECT_EQ(types(again), "a-1 a-2 a-3");
    EXPECT_EQ(again.front().delivery, 2);
    EXPECT_EQ(again.front().event.event_id, late.front().event.event_id);
    for (const Kind kind : {Kind::published, Kind::retry, Kind::park, Kind::release})
        EXPECT_EQ(report(late.front(), kind, "late"), WriteStatus::lease_lost);
    EXPECT_EQ(event("a-1").status, OutboxStatus::pending);
    EXPECT_EQ(report(again.front(), Kind::published), WriteStatus::done);
    EXPECT_EQ(report(again.front(), Kind::published), WriteStatus::lease_lost) << "once is enough";
}

TEST_P(OutboxTest, a_claim_is_limited_and_takes_the_rest_the_next_time) {
    publish("a", 5);
    publish("b", 5);
    const auto first = claim_events(7, 4).events;
    EXPECT_EQ(types(first), "a-1 a-2 a-3 a-4 b-1 b-2 b-3");
    for (const auto& delivery : first) report(delivery, Kind::published);
    EXPECT_EQ(claimed(), "a-5 b-4 b-5");
}

TEST_P(OutboxTest, a_long_line_behind_a_failing_event_does_not_hide_the_others) {
    publish_together("a", 2500);  // more than a claim reads
    const auto head = claim_events(1, 1).events;
    ASSERT_EQ(types(head), "a-1");
    report(head.front(), Kind::retry, "no", 1h);
    publish("b", 1);
    int claims = 1;
    OutboxClaim claim = claim_events(5);
    for (; claim.events.empty() && claim.next_due == claim.now; ++claims) claim = claim_events(5);
    EXPECT_EQ(types(claim.events), "b-1");
    EXPECT_LE(claims, 3);
    EXPECT_EQ(claimed(5), "") << "the line is looked at no more";
    EXPECT_EQ(claim_events(5).next_due, start + 60s) << "of b-1";
    const Recorder recorder;
    EXPECT_EQ(dispatcher(store(), recorder.sink()).dispatch_once(), 0);
    advance(1h);
    EXPECT_EQ(types(claim_events(4).events), "b-1 a-1 a-2 a-3") << "the order of their times";
}

TEST_P(OutboxTest, the_lag_is_the_age_of_the_oldest_event_that_is_due) {
    EXPECT_EQ(outbox_lag(), std::nullopt);
    publish("a", 1);
    advance(5s);
    publish("b", 1);
    EXPECT_EQ(outbox_lag(), 5s);
    const auto mine = claim_events().events;
    EXPECT_EQ(outbox_lag(), std::nullopt) << "it is leased";
    report(mine[0], Kind::published);
    report(mine[1], Kind::retry, "no", 3s);
    EXPECT_EQ(outbox_lag(), std::nullopt);
    advance(3s);
    EXPECT_EQ(outbox_lag(), 3s);
}

TEST_P(OutboxTest, concurrent_claims_deliver_each_event_once) {
    for (int i = 0; i < 40; ++i) publish("a" + std::to_string(i), 3);
    std::mutex mutex;
    std::multiset<std::string> seen;
    {
        std::vector<std::jthread> claimers;
        for (int i = 0; i < 4; ++i) {
            claimers.emplace_back([&] {
                const Store mine = open();
                while (true) {
                    const auto claim = detail::Access::backend(mine)->claim_outbox(10, 2, 60s);
                    if (claim.events.empty()) return;
                    std::vector<OutboxReport> reports;
                    for (const auto& one : claim.events)
                        reports.push_back({one.event.id, one.delivery, Kind::published, {}, {}});
                    for (const WriteStatus status :
                         detail::Access::backend(mine)->report_outbox(reports))
                        EXPECT_EQ(status, WriteStatus::done);
                    const std::lock_guard lock(mutex);
                    for (const auto& one : claim.events) seen.insert(one.event.type);
                }
            });
        }
    }
    // A dispatcher that found nothing may have claimed while others held the remaining events.
    while (true) {
        const auto rest = claim_events().events;
        if (rest.empty()) break;
        for (const auto& one : rest) {
            report(one, Kind::published);
            seen.insert(one.event.type);
        }
    }
    EXPECT_EQ(seen.size(), 120U);
    EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), 120U);
}

}  // namespace
}  // namespace pawl::test
