// Users cannot settle the messages of runs and tasks, nor a message through the name of another
// queue.
#include "support/flow_test.h"

namespace pawl::test {
namespace {

class WorkflowQueueTest : public FlowTest {
protected:
    static std::vector<seam::WriteAction> taking_away() {
        return {seam::Archive{}, seam::Remove{}, seam::Fail{"no"}, seam::Bury{"no"}};
    }

    [[nodiscard]] seam::WriteOutcome outcome_of(const Write& write) const {
        return detail::Access::backend(store())
            ->commit(std::span(&write, 1), Attempt::first)
            .front();
    }
    void expect_refused(const seam::WriteAction& action, const Lease& lease) const {
        const auto outcome = outcome_of({lease, action});
        EXPECT_EQ(outcome.status, WriteStatus::rejected) << action.index();
        EXPECT_EQ(outcome.code, ErrorCode::workflow_queue);
        EXPECT_TRUE(contains(outcome.error, "belongs to a run or a task"));
    }
    [[nodiscard]] Queue job() const { return store().queue("job"); }
};
PAWL_FOR_EACH_BACKEND(WorkflowQueueTest);

TEST_P(WorkflowQueueTest, a_queue_has_the_kind_of_its_messages) {
    make_workflow();
    diamond().create(store());
    EXPECT_EQ(make_queue().info().kind, QueueKind::plain);
    EXPECT_EQ(job().info().kind, QueueKind::workflow);
    EXPECT_EQ(store().queue("flow").info().kind, QueueKind::flow);
}

TEST_P(WorkflowQueueTest, runs_are_not_dequeued_by_hand) {
    make_workflow();
    const RunId run = trigger();
    const Error error = error_of([&] { (void)job().dequeue(); });
    EXPECT_EQ(error.code(), ErrorCode::workflow_queue);
    EXPECT_TRUE(contains(error.what(), "'job'"));
    EXPECT_EQ(claim_one().id(), run);
}

TEST_P(WorkflowQueueTest, tasks_are_not_dequeued_by_hand) {
    diamond().create(store());
    (void)start_flow();
    const Error error = error_of([&] { (void)store().queue("flow").dequeue(); });
    EXPECT_EQ(error.code(), ErrorCode::workflow_queue);
    EXPECT_TRUE(contains(error.what(), "poll_for_tasks"));
    EXPECT_EQ(store().poll_for_tasks("flow").size(), 1U);
}

TEST_P(WorkflowQueueTest, operations_that_would_remove_a_run_are_refused) {
    make_workflow();
    const Held held = trigger_and_claim();
    for (const auto& action : taking_away()) expect_refused(action, held.lease());
    EXPECT_EQ(commit(success(held.lease(), "1")), WriteStatus::done);
    EXPECT_EQ(status(held.id()), RunStatus::success);
    expect_refused(seam::Archive{}, held.lease());
}

TEST_P(WorkflowQueueTest, operations_that_would_remove_a_task_are_refused) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    for (const auto& action : taking_away()) expect_refused(action, held.lease());
    EXPECT_EQ(commit(complete_write(held)), WriteStatus::done);
    EXPECT_EQ(drain(), 3);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(WorkflowQueueTest, a_run_that_waits_is_refused_too) {
    make_workflow();
    const RunId run = trigger();
    expect_refused(seam::Archive{}, {MessageId(run.value()), 0});
    EXPECT_EQ(claim_one().id(), run);
}

TEST_P(WorkflowQueueTest, the_holder_of_a_run_may_extend_release_and_hand_back) {
    make_workflow();
    const RunId run = trigger();
    EXPECT_EQ(job().extend(claim_one().message, 1h), Outcome::done);
    EXPECT_EQ(message_of(run)->visible_at, start + 1h);
    advance(1h);
    EXPECT_EQ(job().release(claim_one().message), Outcome::done);
    const Held held = claim_one();
    EXPECT_EQ(commit({held.lease(), seam::HandBack{}}), WriteStatus::done);
    EXPECT_EQ(claim_one().id(), run);
}

TEST_P(WorkflowQueueTest, the_holder_of_a_task_may_extend_release_and_hand_back) {
    diamond().create(store());
    const RunId run = start_flow();
    const Queue queue = store().queue("flow");
    EXPECT_EQ(queue.extend(claim_task().message, 1h), Outcome::done);
    advance(1h);
    EXPECT_EQ(queue.release(claim_task().message), Outcome::done);
    EXPECT_EQ(commit({claim_task().lease(), seam::HandBack{}}), WriteStatus::done);
    EXPECT_EQ(claim_task().ref().run, run);
}

TEST_P(WorkflowQueueTest, one_call_raises_and_a_batch_has_an_outcome_for_each) {
    make_workflow();
    const Queue plain = make_queue();
    enqueue_many(plain, 2);
    const auto messages = take(plain, 2);
    const Held held = trigger_and_claim();
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { job().archive(held.message); },
             [&] { job().remove(held.message); },
             [&] { job().fail(held.message, "no", {}); }}) {
        EXPECT_EQ(error_of(call).code(), ErrorCode::workflow_queue);
    }
    EXPECT_EQ(
        job().archive(std::vector{held.lease(), Lease{MessageId(4711), 1}}),
        (std::vector{Outcome::workflow_queue, Outcome::lease_lost})
    );
    EXPECT_EQ(commit(success(held.lease())), WriteStatus::done);
}

TEST_P(WorkflowQueueTest, a_message_is_settled_through_its_own_queue) {
    const Queue mail = make_queue("mail");
    const Queue other = make_queue("other");
    enqueue_many(mail, 1);
    enqueue_many(other, 2);
    const Message held = take_one(mail);
    const auto own = take(other, 2);
    for (const auto& call : std::vector<std::function<void()>>{
             [&] { other.archive(held); },
             [&] { other.remove(held); },
             [&] { other.release(held); },
             [&] { other.extend(held, 1h); },
             [&] { other.fail(held, "no", {}); }}) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), ErrorCode::message_not_found);
        EXPECT_TRUE(contains(error.what(), "is not in queue 'other'"));
    }
    EXPECT_EQ(
        other.archive(std::vector{own[0].lease(), held.lease(), own[1].lease()}),
        (std::vector{Outcome::done, Outcome::other_queue, Outcome::done})
    );
    EXPECT_EQ(mail.find(held.id)->visible_at, start + 30s) << "nothing changed";
    EXPECT_EQ(mail.archive(held), Outcome::done);
    EXPECT_EQ(other.stats().archived, 2);
}

TEST_P(WorkflowQueueTest, settling_in_an_unknown_queue_names_it) {
    const Queue mail = make_queue("mail");
    enqueue_many(mail, 1);
    const Message held = take_one(mail);
    EXPECT_EQ(
        error_of([&] { store().queue("nope").archive(held); }).code(), ErrorCode::queue_not_found
    );
    EXPECT_EQ(mail.archive(held), Outcome::done);
}

}  // namespace
}  // namespace pawl::test
