// A worker that lost a run cannot write it; batches, repetition, and a refused item in a batch.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RunFencingTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    // Every kind of write of a run.
    static std::vector<Write> every_write(const Lease& lease) {
        return {
            checkpoint(lease, "late", 1),
            running(lease, "late", 1),
            failed_step(lease, "late", 1),
            retry_step(lease, "late", 1, 1, 1s),
            pause_step(lease, "late", 1, 1s),
            sleep_step(lease, "late", 1, 1s),
            {lease, seam::Extend{1h}},
            {lease, seam::HandBack{}},
            success(lease),
            failure(lease)};
    }
    void expect_all_refused(const Lease& lease, WriteStatus expected, Attempt attempt) const {
        const auto writes = every_write(lease);
        for (std::size_t i = 0; i < writes.size(); ++i)
            EXPECT_EQ(commit(writes[i], attempt), expected) << "write " << i;
        EXPECT_EQ(commit_all(writes, attempt), std::vector(writes.size(), expected));
        EXPECT_TRUE(store().run(RunId(lease.message.value())).steps().empty());
    }
};
PAWL_FOR_EACH_BACKEND(RunFencingTest);

TEST_P(RunFencingTest, an_earlier_holder_can_write_nothing) {
    make_workflow();
    const Held first = trigger_and_claim();
    advance(31s);
    const Held second = claim_one();
    expect_all_refused(first.lease(), WriteStatus::lease_lost, Attempt::first);
    EXPECT_EQ(status(first.id()), RunStatus::running);
    EXPECT_EQ(message_of(first.id())->visible_at, start + 61s);
    EXPECT_EQ(commit(success(second.lease())), WriteStatus::done);
    expect_all_refused(first.lease(), WriteStatus::lease_lost, Attempt::first);
    EXPECT_EQ(status(first.id()), RunStatus::success);
}

TEST_P(RunFencingTest, a_repetition_by_an_earlier_holder_writes_nothing_either) {
    make_workflow();
    const Held first = trigger_and_claim();
    advance(31s);
    (void)claim_one();
    for (const Write& write : {checkpoint(first.lease(), "late", 1), success(first.lease())})
        EXPECT_EQ(commit(write, Attempt::repeated), WriteStatus::lease_lost);
    EXPECT_TRUE(store().run(first.id()).steps().empty());
    EXPECT_EQ(status(first.id()), RunStatus::running);
}

TEST_P(RunFencingTest, after_a_cancel_the_holder_can_write_nothing_and_gets_cancelled) {
    make_workflow();
    const Held held = trigger_and_claim();
    store().cancel(held.id(), "enough");
    expect_all_refused(held.lease(), WriteStatus::cancelled, Attempt::first);
    EXPECT_EQ(status(held.id()), RunStatus::cancelled);
    EXPECT_EQ(commit(success(held.lease()), Attempt::repeated), WriteStatus::cancelled);
}

TEST_P(RunFencingTest, after_a_delete_the_holder_can_write_nothing) {
    make_workflow();
    const Held held = trigger_and_claim();
    store().delete_run(held.id(), "wrong one");
    expect_all_refused(held.lease(), WriteStatus::cancelled, Attempt::first);
}

TEST_P(RunFencingTest, the_heartbeat_hears_of_a_cancel) {
    make_workflow();
    const auto runs = trigger_many(2);
    const auto held = claim_many(2);
    store().cancel(runs[0], "enough");
    std::vector<Write> extensions;
    for (const Held& one : held) extensions.push_back({one.lease(), seam::Extend{30s}});
    const auto result = detail::Access::backend(store())->heartbeat({}, extensions);
    ASSERT_EQ(result.outcomes.size(), 2U);
    EXPECT_EQ(result.outcomes[0].status, WriteStatus::cancelled);
    EXPECT_EQ(result.outcomes[1].status, WriteStatus::done);
}

TEST_P(RunFencingTest, an_ended_lease_still_holds_until_the_next_delivery) {
    make_workflow();
    const Held held = trigger_and_claim();
    advance(31s);
    EXPECT_EQ(commit(checkpoint(held.lease(), "a", 1)), WriteStatus::done);
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::done);
}

TEST_P(RunFencingTest, a_worker_that_suspended_a_run_cannot_write_it) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(pause_step(held.lease(), "ask", 1, 1h));
    EXPECT_EQ(commit(checkpoint(held.lease(), "late", 2)), WriteStatus::lease_lost);
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::lease_lost);
    EXPECT_EQ(step_ids(held.id()), std::vector<std::string>{"ask"});
}

TEST_P(RunFencingTest, writes_of_this_delivery_count_as_done_when_they_are_repeated) {
    make_workflow();
    const auto runs = trigger_many(5);
    const auto held = claim_many(5);
    const std::vector<Write> writes{
        checkpoint(held[0].lease(), "a", 1, "1"),
        success(held[1].lease(), "2"),
        failure(held[2].lease()),
        retry_step(held[3].lease(), "a", 1, 1, 1h),
        pause_step(held[4].lease(), "a", 1, 1h)};
    EXPECT_EQ(commit_all(writes), std::vector(5, WriteStatus::done));
    advance(1s);
    EXPECT_EQ(commit_all(writes, Attempt::repeated), std::vector(5, WriteStatus::done));
    EXPECT_EQ(info(runs[1]).completed_at, start) << "it ended once";
    EXPECT_EQ(info(runs[2]).completed_at, start);
    EXPECT_EQ(info(runs[3]).visible_at, start + 1h);
    EXPECT_EQ(info(runs[4]).visible_at, start + 1h);
    EXPECT_EQ(step(runs[0], "a").completed_at, start);
}

TEST_P(RunFencingTest, a_repeated_checkpoint_is_done_though_the_run_went_on) {
    make_workflow();
    const auto runs = trigger_many(2);
    const auto held = claim_many(2);
    const Write first = checkpoint(held[0].lease(), "a", 1);
    const Write second = checkpoint(held[1].lease(), "a", 1);
    commit_all({first, success(held[0].lease()), second, pause_step(held[1].lease(), "b", 2, 1h)});
    EXPECT_EQ(commit(first, Attempt::repeated), WriteStatus::done);
    EXPECT_EQ(commit(second, Attempt::repeated), WriteStatus::done);
}

TEST_P(RunFencingTest, a_repetition_that_finds_nothing_written_writes_it) {
    make_workflow();
    const auto runs = trigger_many(3);
    const auto held = claim_many(3);
    EXPECT_EQ(
        commit_all(
            {checkpoint(held[0].lease(), "a", 1),
             success(held[1].lease(), "7"),
             pause_step(held[2].lease(), "ask", 1, 1h)},
            Attempt::repeated
        ),
        std::vector(3, WriteStatus::done)
    );
    EXPECT_EQ(step(runs[0], "a").status, StepStatus::success);
    EXPECT_EQ(info(runs[1]).output, Json{"7"});
    EXPECT_EQ(status(runs[2]), RunStatus::paused);
}

TEST_P(RunFencingTest, one_bad_item_among_many_is_rejected_alone) {
    make_workflow();
    const auto runs = trigger_many(64);
    const auto held = claim_many(64);
    kit().refuse_steps_of(runs[23]);
    std::vector<Write> writes;
    for (const Held& one : held) writes.push_back(checkpoint(one.lease(), "a", 1));
    const auto outcomes = detail::Access::backend(store())->commit(writes, Attempt::first);
    for (std::size_t i = 0; i < outcomes.size(); ++i)
        EXPECT_EQ(outcomes[i].status, i == 23 ? WriteStatus::rejected : WriteStatus::done) << i;
    EXPECT_TRUE(contains(outcomes[23].error, "not this one"));
    EXPECT_EQ(count(Rows::steps), 63);
}

TEST_P(RunFencingTest, text_that_the_database_refuses_does_not_affect_other_items) {
    make_workflow();
    const auto runs = trigger_many(3);
    const auto held = claim_many(3);
    std::vector<Write> writes;
    for (const Held& one : held) writes.push_back(checkpoint(one.lease(), "a", 1, "1"));
    writes[1].as<Checkpoint>().step->output = "\"caf\xe9\"";
    const auto statuses = commit_all(writes);
    EXPECT_EQ(statuses[0], WriteStatus::done);
    EXPECT_EQ(statuses[2], WriteStatus::done);
    EXPECT_EQ(step(runs[0], "a").output, Json{"1"});
    EXPECT_EQ(step(runs[2], "a").output, Json{"1"});
}

TEST_P(RunFencingTest, writes_of_one_run_in_one_batch_happen_in_order) {
    make_workflow();
    const auto runs = trigger_many(3);
    const auto held = claim_many(3);
    EXPECT_EQ(
        commit_all(
            {running(held[0].lease(), "a", 1),
             running(held[1].lease(), "a", 1),
             checkpoint(held[0].lease(), "a", 1, "5"),
             running(held[0].lease(), "b", 2),
             retry_step(held[1].lease(), "a", 1, 1, 1h),
             checkpoint(held[2].lease(), "a", 1, "1"),
             checkpoint(held[2].lease(), "a", 1, "2"),
             success(held[0].lease(), "6"),
             success(held[2].lease())}
        ),
        std::vector(9, WriteStatus::done)
    );
    EXPECT_EQ(step(runs[0], "a").output, Json{"5"});
    EXPECT_EQ(info(runs[0]).output, Json{"6"});
    EXPECT_EQ(step(runs[1], "a").status, StepStatus::pending);
    EXPECT_EQ(status(runs[1]), RunStatus::running);
    EXPECT_EQ(step(runs[2], "a").output, Json{"1"}) << "the first result stays";
}

TEST_P(RunFencingTest, a_batch_mixes_runs_and_plain_messages) {
    make_workflow();
    const Queue plain = make_queue("plain");
    plain.enqueue(Json{"1"});
    const Message message = take_one(plain);
    const auto runs = trigger_many(4);
    const auto held = claim_many(4);
    store().cancel(runs[3], "no");
    EXPECT_EQ(
        commit_all(
            {success(held[0].lease(), "1"),
             {message.lease(), seam::Archive{}},
             failure(held[1].lease()),
             pause_step(held[2].lease(), "ask", 1, 1h),
             success(held[3].lease()),
             success({MessageId(4711), 1})}
        ),
        (std::vector{
            WriteStatus::done,
            WriteStatus::done,
            WriteStatus::done,
            WriteStatus::done,
            WriteStatus::cancelled,
            WriteStatus::lease_lost})
    );
    EXPECT_EQ(status(runs[0]), RunStatus::success);
    EXPECT_EQ(status(runs[1]), RunStatus::error);
    EXPECT_EQ(status(runs[2]), RunStatus::paused);
    EXPECT_EQ(status(runs[3]), RunStatus::cancelled);
    EXPECT_EQ(plain.stats().archived, 1);
}

}  // namespace
}  // namespace pawl::test
