// The seam's claim over sets of queues.
#include <algorithm>
#include <map>
#include <set>

#include "engine/claim_stream.h"
#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

using seam::Claim;
using seam::ClaimRequest;

class ClaimSetsTest : public StoreTest {
protected:
    std::vector<QueueId> make_queues(int count) const {
        std::vector<QueueId> made;
        for (int i = 0; i < count; ++i) {
            make_queue("q" + std::to_string(i));
            made.push_back(store().queue("q" + std::to_string(i)).info().id);
        }
        return made;
    }
    Queue q(int i) const { return store().queue("q" + std::to_string(i)); }
    Claim claim(const std::vector<QueueId>& queues, int count, QueueId after = {}) const {
        ClaimRequest request;
        request.queues = queues;
        request.max_messages = count;
        request.after = after;
        return detail::Access::backend(store())->claim(request);
    }
    // Like a worker: claims until no queue of the set has a message.
    std::vector<Message> drain(const std::vector<QueueId>& queues, int count) const {
        std::vector<Message> all;
        engine::ClaimStream stream(*detail::Access::backend(store()), {}, {});
        stream.set_queues(queues);
        while (true) {
            Claim part = stream.next(count, seam::Scan::streaming);
            if (part.messages.empty() && !part.more) return all;
            for (Message& message : part.messages) all.push_back(std::move(message));
        }
    }
};
PAWL_FOR_EACH_BACKEND(ClaimSetsTest);

TEST_P(ClaimSetsTest, a_set_of_queues_is_merged_by_priority_then_arrival) {
    const auto queues = make_queues(3);
    std::vector<MessageId> by_priority(6);
    by_priority[3] = q(0).enqueue(Json{"1"}, {.priority = 1});
    by_priority[0] = q(1).enqueue(Json{"2"}, {.priority = 9});
    by_priority[1] = q(2).enqueue(Json{"3"}, {.priority = 5});
    by_priority[2] = q(0).enqueue(Json{"4"}, {.priority = 5});
    by_priority[4] = q(1).enqueue(Json{"5"}, {.priority = 0});
    by_priority[5] = q(2).enqueue(Json{"6"}, {.priority = -1});
    auto first = claim(queues, 4);
    auto got = ids(first.messages);
    for (const Message& message : claim(queues, 4, first.after).messages) got.push_back(message.id);
    EXPECT_EQ(got, by_priority);
}

TEST_P(ClaimSetsTest, each_message_is_returned_with_its_queue) {
    const auto queues = make_queues(2);
    q(0).enqueue(Json{"0"});
    q(1).enqueue(Json{"1"});
    const Claim got = claim(queues, 10);
    ASSERT_EQ(got.messages.size(), 2U);
    ASSERT_EQ(got.queues.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
        EXPECT_EQ(got.queues[i], queues[got.messages[i].payload.text == "0" ? 0 : 1]);
}

TEST_P(ClaimSetsTest, only_the_requested_queues_are_searched) {
    const auto queues = make_queues(3);
    for (int i = 0; i < 3; ++i) q(i).enqueue(Json{"1"});
    EXPECT_EQ(claim({queues[0], queues[2]}, 10).messages.size(), 2U);
    EXPECT_EQ(q(1).stats().ready, 1);
}

TEST_P(ClaimSetsTest, an_empty_set_and_unknown_queues_give_nothing) {
    EXPECT_TRUE(claim({}, 10).messages.empty());
    EXPECT_TRUE(claim({QueueId(4711)}, 10).messages.empty());
}

TEST_P(ClaimSetsTest, a_busy_queue_does_not_starve_the_others) {
    const auto queues = make_queues(4);
    enqueue_many(q(0), 100);
    for (int i = 1; i < 4; ++i) enqueue_many(q(i), 3);
    std::map<QueueId, int> got;
    QueueId after;
    for (int round = 0; round < 4; ++round) {
        const Claim part = claim(queues, 4, after);
        after = part.after;
        EXPECT_EQ(part.messages.size(), 4U);
        for (const QueueId queue : part.queues) ++got[queue];
    }
    for (const QueueId queue : queues) EXPECT_GE(got[queue], 3);
}

TEST_P(ClaimSetsTest, single_claims_rotate_over_the_queues) {
    const auto queues = make_queues(4);
    for (int i = 0; i < 4; ++i) enqueue_many(q(i), 10);
    std::set<QueueId> seen;
    QueueId after;
    for (int round = 0; round < 4; ++round) {
        const Claim part = claim(queues, 1, after);
        after = part.after;
        ASSERT_EQ(part.queues.size(), 1U);
        seen.insert(part.queues.front());
    }
    EXPECT_EQ(seen.size(), 4U);
}

TEST_P(ClaimSetsTest, few_queues_with_work_are_found_in_a_wide_set) {
    const auto queues = make_queues(100);
    for (const int busy : {3, 50, 99}) enqueue_many(q(busy), 2);
    EXPECT_EQ(drain(queues, 4).size(), 6U);
    EXPECT_TRUE(claim(queues, 4).messages.empty());
}

TEST_P(ClaimSetsTest, a_wide_set_with_work_everywhere_is_drained) {
    const auto queues = make_queues(80);
    for (int i = 0; i < 80; ++i) enqueue_many(q(i), 2);
    EXPECT_EQ(drain(queues, 7).size(), 160U);
}

TEST_P(ClaimSetsTest, a_wide_set_is_not_held_up_by_queues_of_others) {
    const auto queues = make_queues(120);
    for (int i = 0; i < 120; ++i) q(i).enqueue(Json{"1"});
    const std::vector<QueueId> mine(queues.begin() + 60, queues.begin() + 110);
    EXPECT_EQ(drain(mine, 10).size(), 50U);
    EXPECT_EQ(store().stats().ready, 70);
}

TEST_P(ClaimSetsTest, due_messages_of_a_wide_set_are_found) {
    freeze();
    const auto queues = make_queues(50);
    for (const int busy : {0, 25, 49}) q(busy).enqueue(Json{"1"}, {.delay = 10s});
    EXPECT_TRUE(drain(queues, 10).empty());
    advance(10s);
    EXPECT_EQ(drain(queues, 10).size(), 3U);
}

TEST_P(ClaimSetsTest, a_wide_set_with_nothing_due_becomes_idle) {
    freeze();
    const auto queues = make_queues(80);
    for (int i = 0; i < 80; ++i) q(i).enqueue(Json{"1"}, {.delay = std::chrono::minutes(100 - i)});
    engine::ClaimStream stream(*detail::Access::backend(store()), {}, {});
    stream.set_queues(queues);
    Claim last;
    int claims = 0;
    do last = stream.next(10, seam::Scan::streaming);
    while (last.more && ++claims < 20);
    EXPECT_FALSE(last.more) << "a worker would claim again and again and never wait";
    EXPECT_EQ(last.next_due, start + 21min) << "it speaks for all of them";
}

TEST_P(ClaimSetsTest, the_claim_returns_when_the_next_message_becomes_due) {
    freeze();
    const auto queues = make_queues(2);
    EXPECT_FALSE(claim(queues, 1).next_due.has_value());
    q(0).enqueue(Json{"1"}, {.delay = 20s});
    q(1).enqueue(Json{"2"}, {.delay = 10s});
    Claim none = claim(queues, 1);
    EXPECT_EQ(none.now, start);
    EXPECT_EQ(none.next_due, start + 10s);
    advance(10s);
    EXPECT_EQ(claim(queues, 1).messages.size(), 1U);
    EXPECT_EQ(claim(queues, 1).next_due, start + 20s) << "the lease that ends at 40 s comes later";
}

TEST_P(ClaimSetsTest, a_lease_that_ends_is_the_next_due) {
    freeze();
    const auto queues = make_queues(1);
    q(0).enqueue(Json{"1"});
    EXPECT_EQ(claim(queues, 1).messages.size(), 1U);
    EXPECT_EQ(claim(queues, 1).next_due, start + 30s);
}

TEST_P(ClaimSetsTest, paused_queues_are_passed_over_and_give_no_due_time) {
    freeze();
    const auto queues = make_queues(2);
    q(0).pause();
    q(0).enqueue(Json{"1"}, {.priority = 100});
    q(0).enqueue(Json{"1"}, {.delay = 1s});
    const MessageId other = q(1).enqueue(Json{"2"});
    const Claim got = claim(queues, 10);
    EXPECT_EQ(ids(got.messages), std::vector{other});
    EXPECT_NE(got.next_due, start + 1s);
}

TEST_P(ClaimSetsTest, many_timers_that_end_at_the_same_time_are_claimed_in_bounded_portions) {
    freeze();
    const auto queues = make_queues(1);
    std::vector<NewMessage> batch(1000, NewMessage{Json{"1"}, {.delay = 5s}});
    q(0).enqueue(batch);
    advance(5s);
    EXPECT_EQ(claim(queues, 10).messages.size(), 10U);
    EXPECT_EQ(kit().count(Word::message_state, "waiting"), 990)
        << "due rows are not rewritten as ready";
    EXPECT_EQ(drain(queues, 100).size(), 990U);
}

// A worker that claims continuously while the clock advances.
TEST_P(ClaimSetsTest, timers_that_ended_at_the_same_time_are_all_claimed_without_a_pause) {
    freeze();
    const auto queues = make_queues(2);
    for (const int queue : {0, 1})
        for (int i = 0; i < 100; ++i) q(queue).enqueue(Json{"1"}, {.delay = 1s});
    advance(1s);
    for (const auto& set : {std::vector{queues[0]}, queues}) {
        ClaimRequest request;
        request.queues = set;
        request.max_messages = 10;
        request.scan = seam::Scan::streaming;
        for (int i = 0; i < 10; ++i) {
            EXPECT_EQ(detail::Access::backend(store())->claim(request).messages.size(), 10U) << i;
            advance(300ms);
        }
    }
}

TEST_P(ClaimSetsTest, due_messages_that_stand_back_behind_higher_ones_are_taken_afterwards) {
    freeze();
    const auto queues = make_queues(1);
    const MessageId low = q(0).enqueue(Json{"1"}, {.delay = 1s});
    advance(1s);
    ClaimRequest request;
    request.queues = queues;
    request.max_messages = 2;
    request.scan = seam::Scan::streaming;
    for (int i = 0; i < 10; ++i) {
        for (int n = 0; n < 2; ++n) q(0).enqueue(Json{"1"}, {.priority = 5});
        EXPECT_EQ(detail::Access::backend(store())->claim(request).messages.size(), 2U);
        advance(300ms);
    }
    EXPECT_EQ(ids(detail::Access::backend(store())->claim(request).messages), std::vector{low});
}

// The ready ones of the other queue are found before due ones are searched.
TEST_P(ClaimSetsTest, a_suspect_is_delivered_alone_from_several_queues_too) {
    freeze();
    const auto queues = make_queues(2);
    const MessageId suspect = q(0).enqueue(Json{"1"});
    ASSERT_EQ(claim(queues, 1).messages.size(), 1U);
    advance(31s);
    ASSERT_EQ(claim(queues, 1).messages.size(), 1U);
    advance(29'950ms);
    ClaimRequest request;
    request.queues = queues;
    request.max_messages = 10;
    request.scan = seam::Scan::streaming;
    std::set<MessageId> others;
    int alone = 0;
    for (int i = 0; i < 6; ++i) {
        others.insert(q(1).enqueue(Json{"1"}));
        const auto got = ids(detail::Access::backend(store())->claim(request).messages);
        const bool with_suspect = std::ranges::count(got, suspect) > 0;
        alone += with_suspect ? 1 : 0;
        if (with_suspect) {
            EXPECT_EQ(got.size(), 1U);
        } else {
            for (const MessageId id : got) others.erase(id);
        }
        advance(60ms);  // it becomes due between two checks
    }
    EXPECT_EQ(alone, 1);
    EXPECT_TRUE(others.empty());
}

TEST_P(ClaimSetsTest, the_worker_of_the_claim_is_the_holder) {
    const auto queues = make_queues(1);
    const MessageId id = q(0).enqueue(Json{"1"});
    ClaimRequest request;
    request.queues = queues;
    request.worker = WorkerId(12);
    EXPECT_EQ(detail::Access::backend(store())->claim(request).messages.at(0).worker, WorkerId(12));
    EXPECT_EQ(q(0).find(id)->worker, WorkerId(12));
}

TEST_P(ClaimSetsTest, a_streaming_claim_finds_messages_that_arrive_before_and_above_its_position) {
    const auto queues = make_queues(1);
    ClaimRequest request;
    request.queues = queues;
    request.max_messages = 2;
    request.scan = seam::Scan::streaming;
    enqueue_many(q(0), 5);
    EXPECT_EQ(detail::Access::backend(store())->claim(request).messages.size(), 2U);
    const MessageId urgent = q(0).enqueue(Json{"9"}, {.priority = 7});
    const Claim next = detail::Access::backend(store())->claim(request);
    ASSERT_EQ(next.messages.size(), 2U);
    EXPECT_EQ(next.messages[0].id, urgent);
    int rest = 0;
    while (true) {
        const auto part = detail::Access::backend(store())->claim(request).messages.size();
        if (part == 0) break;
        rest += static_cast<int>(part);
    }
    EXPECT_EQ(rest, 2);
}

}  // namespace
}  // namespace pawl::test
