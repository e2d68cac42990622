// Counts are exact up to 10000; above that they are lower bounds and marked as such. Lists of
// messages.
#include <map>

#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class CountsTest : public WorkflowTest {
protected:
    static constexpr int limit = 10'000;

    static void enqueue_in_batches(const Queue& queue, int count, const EnqueueOptions& options) {
        for (int done = 0; done < count; done += 1000) {
            const std::vector<NewMessage> batch(
                static_cast<std::size_t>(std::min(1000, count - done)),
                NewMessage{Json{"1"}, options}
            );
            queue.enqueue(batch);
        }
    }
    static std::vector<MessageId> listed(const Queue& queue, MessageState state, int page_size) {
        std::vector<MessageId> seen;
        PageRequest page{.after = {}, .limit = page_size};
        while (true) {
            const auto part = queue.list(state, page);
            for (const Message& message : part) {
                EXPECT_EQ(message.state, state);
                seen.push_back(message.id);
            }
            if (part.size() < static_cast<std::size_t>(page_size)) return seen;
            page.after = part.back().id;
        }
    }
};
PAWL_FOR_EACH_BACKEND(CountsTest);

TEST_P(CountsTest, a_count_stops_at_its_limit_and_is_marked) {
    freeze();
    const Queue queue = make_queue();
    enqueue_in_batches(queue, limit, {});
    EXPECT_EQ(to_string(queue.stats().ready), "10000");
    EXPECT_TRUE(queue.stats().ready.exact);
    advance(1s);
    queue.enqueue(Json{"1"}, {.priority = 5});
    const QueueStats stats = queue.stats();
    EXPECT_EQ(to_string(stats.ready), "10000+");
    EXPECT_EQ(to_string(stats.waiting), "0");
    EXPECT_EQ(stats.oldest_ready_age, Duration(1s)) << "of a lower priority";
    EXPECT_EQ(to_string(store().stats().ready), "10000+");
    const Error refused = error_of([&] { store().delete_queue("work"); });
    EXPECT_TRUE(contains(refused.what(), "has 10000+ messages and 0 dead letters"))
        << refused.what();
    queue.remove(take_one(queue));
    EXPECT_TRUE(queue.stats().ready.exact);
}

TEST_P(CountsTest, many_delayed_messages_are_counted_up_to_the_limit) {
    freeze();
    const Queue queue = make_queue();
    enqueue_many(queue, 1);
    (void)take_one(queue);
    enqueue_in_batches(queue, limit + 1, {.delay = 1h});
    const QueueStats stats = queue.stats();
    EXPECT_EQ(to_string(stats.waiting), "10000+");
    EXPECT_EQ(to_string(stats.leased), "1");
    advance(2h);
    EXPECT_EQ(to_string(queue.stats().ready), "10000+") << "their time has come";
    EXPECT_EQ(
        listed(queue, MessageState::ready, 10'000).size(), static_cast<std::size_t>(limit + 2)
    );
}

TEST_P(CountsTest, the_archives_of_all_queues_are_counted_up_to_a_thousand) {
    const Queue queue = make_queue();
    for (int i = 0; i < 3; ++i) {
        enqueue_in_batches(queue, 400, {});
        queue.archive(leases(take(queue, 400)));
    }
    EXPECT_EQ(to_string(queue.stats().archived), "1200");
    EXPECT_EQ(to_string(store().queue_stats().front().archived), "1000+");
    EXPECT_EQ(to_string(store().stats().archived), "1000+");
}

TEST_P(CountsTest, many_runs_are_counted_up_to_the_limit) {
    make_workflow();
    make_workflow("other");
    (void)trigger_many(50, "other");
    for (int i = 0; i < 21; ++i) (void)trigger_many(1000);
    const auto held = claim_many(20);
    commit_all({success(held[0].lease()), failure(held[1].lease())});
    for (const RunFilter& filter : {RunFilter{.workflow = "job"}, RunFilter{}}) {
        const RunCounts counts = store().count_runs(filter);
        EXPECT_EQ(to_string(counts.queued), "10000+");
        EXPECT_EQ(to_string(counts.running), "18") << "those in hand are counted apart";
        EXPECT_EQ(to_string(counts.success), "1");
        EXPECT_EQ(to_string(counts.error), "1");
    }
    EXPECT_EQ(store().runs({.status = RunStatus::running}, {.before = {}, .limit = 5}).size(), 5U);
    EXPECT_EQ(to_string(store().count_runs({.workflow = "other"}).queued), "50");
}

TEST_P(CountsTest, metrics_of_a_busy_workflow_are_those_of_the_newest_runs) {
    freeze();
    make_workflow();
    kit().add_ended_runs({.count = 20'000, .created_at = start, .apart = 1ms});
    advance(20s);
    const WorkflowMetrics seen = store().workflow_metrics("job");
    EXPECT_EQ(to_string(seen.succeeded), "10000+");
    EXPECT_EQ(to_string(seen.failed), "0+");
    EXPECT_NEAR(seen.runs_per_second, 1000, 1) << "of the time that they cover";
    EXPECT_EQ(seen.success_rate, 1);
    EXPECT_NEAR(static_cast<double>(seen.p50_duration->count()), 15'000, 2);
}

TEST_P(CountsTest, messages_of_all_states_and_priorities_are_listed_by_id) {
    freeze();
    make_queue("other");
    const Queue queue = make_queue();
    std::vector<MessageId> sent;
    for (int i = 0; i < 60; ++i) {
        const EnqueueOptions options{
            .priority = i % 4, .delay = i % 5 == 0 ? Duration(1h) : Duration(i % 7 == 0 ? 1s : 0s)};
        sent.push_back(queue.enqueue(Json{"1"}, options));
        store().queue("other").enqueue(Json{"1"}, options);
        if (i % 6 == 5) (void)take(queue, 1);
        if (i % 12 == 11) queue.release(take_one(queue), 0s);
    }
    advance(2s);
    std::map<MessageState, std::vector<MessageId>> expected;
    for (const MessageId id : sent) expected[queue.find(id)->state].push_back(id);
    ASSERT_EQ(expected.size(), 3U);
    for (const auto& [state, ids] : expected) {
        EXPECT_EQ(listed(queue, state, 7), ids) << to_string(state);
        EXPECT_EQ(listed(queue, state, 1000), ids) << to_string(state);
    }
}

TEST_P(CountsTest, messages_of_more_than_a_hundred_priorities_are_listed_too) {
    const Queue queue = make_queue();
    std::vector<MessageId> sent;
    for (int i = 0; i < 150; ++i)
        sent.push_back(queue.enqueue(Json{"1"}, {.priority = i * 7 % 150}));
    EXPECT_EQ(listed(queue, MessageState::ready, 40), sent);
}

}  // namespace
}  // namespace pawl::test
