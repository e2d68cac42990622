// The seam's commit: one outcome per write, a refused item does not affect others, repetition is
// safe.
#include "seam/backend.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

using seam::Archive;
using seam::Attempt;
using seam::Bury;
using seam::Extend;
using seam::Fail;
using seam::HandBack;
using seam::Release;
using seam::Remove;
using seam::Write;
using seam::WriteAction;
using seam::WriteStatus;

class CommitBatchTest : public StoreTest {
protected:
    std::vector<Message> held(int count) const {
        const Queue queue = make_queue();
        enqueue_many(queue, count);
        return take(queue, count);
    }
    WriteStatus commit(const Write& write, Attempt attempt = Attempt::first) const {
        return detail::Access::backend(store())
            ->commit(std::span(&write, 1), attempt)
            .front()
            .status;
    }
};
PAWL_FOR_EACH_BACKEND(CommitBatchTest);

TEST_P(CommitBatchTest, one_bad_item_among_a_hundred_is_rejected_alone) {
    const auto messages = held(100);
    kit().refuse_writes_of(messages[57].id);
    std::vector<Write> writes;
    for (const Message& message : messages) writes.push_back({message.lease(), Archive{}});
    const auto outcomes = detail::Access::backend(store())->commit(writes, Attempt::first);
    ASSERT_EQ(outcomes.size(), 100U);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        EXPECT_EQ(outcomes[i].status, i == 57 ? WriteStatus::rejected : WriteStatus::done) << i;
    EXPECT_TRUE(contains(outcomes[57].error, "not this one"));
    EXPECT_EQ(store().queue("work").stats().archived, 99);
    EXPECT_EQ(store().queue("work").stats().leased, 1);
}

TEST_P(CommitBatchTest, settling_a_rejected_item_by_hand_throws_the_databases_words) {
    const auto messages = held(3);
    kit().refuse_writes_of(messages[1].id);
    const Queue queue = store().queue("work");
    const Error error = error_of([&] { queue.archive(leases(messages)); });
    EXPECT_EQ(error.code(), ErrorCode::database_error);
    EXPECT_TRUE(contains(error.what(), "not this one"));
    EXPECT_EQ(queue.stats().archived, 2);
}

TEST_P(CommitBatchTest, a_batch_mixes_every_kind_of_write) {
    freeze();
    const auto messages = held(8);
    const std::vector<Write> writes{
        {messages[0].lease(), Archive{}},
        {messages[1].lease(), Remove{}},
        {messages[2].lease(), Release{5s}},
        {messages[3].lease(), HandBack{}},
        {messages[4].lease(), Fail{"no", 6s}},
        {messages[5].lease(), Bury{"buried"}},
        {messages[6].lease(), Extend{1h}},
        {{messages[7].id, 99}, Archive{}}};
    const auto outcomes = detail::Access::backend(store())->commit(writes, Attempt::first);
    for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(outcomes[i].status, WriteStatus::done) << i;
    EXPECT_EQ(outcomes[7].status, WriteStatus::lease_lost);
    const Queue queue = store().queue("work");
    EXPECT_EQ(queue.archived(ArchiveFilter::done).at(0).id, messages[0].id);
    EXPECT_FALSE(queue.find(messages[1].id));
    EXPECT_EQ(queue.find(messages[2].id)->visible_at, start + 5s);
    EXPECT_EQ(queue.find(messages[3].id)->strikes, 0);
    EXPECT_EQ(queue.find(messages[3].id)->delivery, 1);
    EXPECT_EQ(queue.find(messages[3].id)->state, MessageState::ready);
    EXPECT_EQ(queue.find(messages[4].id)->attempts, 1);
    EXPECT_EQ(queue.archived(ArchiveFilter::dead).at(0).reason, "buried");
    EXPECT_EQ(queue.find(messages[6].id)->visible_at, start + 1h);
    EXPECT_EQ(queue.find(messages[7].id)->state, MessageState::leased);
}

TEST_P(CommitBatchTest, writes_of_this_delivery_count_as_done_when_they_are_repeated) {
    const auto messages = held(6);
    const std::vector<Write> writes{
        {messages[0].lease(), Archive{}},
        {messages[1].lease(), Remove{}},
        {messages[2].lease(), Release{1h}},
        {messages[3].lease(), HandBack{}},
        {messages[4].lease(), Fail{"no", 1h}},
        {messages[5].lease(), Bury{"buried"}}};
    for (const auto& outcome : detail::Access::backend(store())->commit(writes, Attempt::first))
        EXPECT_EQ(outcome.status, WriteStatus::done);
    for (const auto& outcome : detail::Access::backend(store())->commit(writes, Attempt::repeated))
        EXPECT_EQ(outcome.status, WriteStatus::done);
    const Queue queue = store().queue("work");
    EXPECT_EQ(queue.find(messages[4].id)->attempts, 1) << "it failed once, not twice";
    EXPECT_EQ(queue.stats().archived, 1);
    EXPECT_EQ(queue.stats().dead, 1);
    for (const auto& outcome : detail::Access::backend(store())->commit(writes, Attempt::first))
        EXPECT_EQ(outcome.status, WriteStatus::lease_lost);
}

TEST_P(CommitBatchTest, a_repetition_that_finds_nothing_written_writes_it) {
    const auto messages = held(2);
    EXPECT_EQ(commit({messages[0].lease(), Archive{}}, Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(commit({messages[1].lease(), Fail{"no"}}, Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(store().queue("work").stats().archived, 1);
}

TEST_P(CommitBatchTest, a_repetition_is_fenced_off_once_the_message_was_delivered_again) {
    freeze();
    const auto messages = held(2);
    advance(31s);
    const auto second = take(store().queue("work"), 2);
    ASSERT_EQ(second.size(), 2U);
    store().queue("work").archive(second[1]);
    for (const Message& message : messages) {
        const std::vector<WriteAction> actions{
            Archive{}, Remove{}, Release{}, HandBack{}, Fail{}, Bury{}};
        for (const WriteAction& action : actions)
            EXPECT_EQ(
                commit({message.lease(), action}, Attempt::repeated), WriteStatus::lease_lost
            );
    }
    EXPECT_EQ(store().queue("work").stats().leased, 1);
}

TEST_P(CommitBatchTest, the_heartbeat_extends_leases_and_returns_the_lost_ones) {
    freeze();
    const auto messages = held(2);
    advance(10s);
    const std::vector<Write> extensions{
        {messages[0].lease(), Extend{30s}}, {{messages[1].id, 7}, Extend{30s}}};
    const auto result = detail::Access::backend(store())->heartbeat({}, extensions);
    EXPECT_EQ(result.outcomes.at(0).status, WriteStatus::done);
    EXPECT_EQ(result.outcomes.at(1).status, WriteStatus::lease_lost);
    EXPECT_EQ(store().queue("work").find(messages[0].id)->visible_at, start + 40s);
}

}  // namespace
}  // namespace pawl::test
