// New runs from old ones: retry, fork, and their lineage.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class RetryForkTest : public WorkflowTest {
protected:
    // Steps a (SUCCESS), b (ERROR), c (SUCCESS), d (open); then the run fails.
    RunId failed_run() const {
        const RunId run = trigger(
            "job",
            Json{R"({"n":1})"},
            {.priority = 4,
             .idempotency_key = "k" + std::to_string(store().count_runs().error),
             .max_attempts = 8,
             .parent = RunId(77),
             .tags = {"x", "y"}}
        );
        const Held held = claim_one();
        Write first = checkpoint(held.lease(), "a", 1, R"("one")");
        first.as<Checkpoint>().step->input = "5";
        first.as<Checkpoint>().step->attempt = 2;
        commit_all(
            {first,
             failed_step(held.lease(), "b", 2),
             checkpoint(held.lease(), "c", 3, R"("three")"),
             running(held.lease(), "d", 4),
             failure(held.lease())}
        );
        return run;
    }
    static std::vector<RunId> ids_of(const std::vector<RunInfo>& runs) {
        std::vector<RunId> ids;
        for (const RunInfo& run : runs) ids.push_back(run.id);
        return ids;
    }
};
PAWL_FOR_EACH_BACKEND(RetryForkTest);

TEST_P(RetryForkTest, a_retry_is_a_new_run_that_takes_the_finished_steps_over) {
    freeze();
    make_workflow();
    const RunId old = failed_run();
    advance(10s);
    const Run made = store().retry(old);
    EXPECT_NE(made.id(), old);
    const RunInfo seen = made.info();
    EXPECT_EQ(seen.status, RunStatus::queued);
    EXPECT_EQ(seen.workflow, "job");
    EXPECT_EQ(seen.origin, old);
    EXPECT_EQ(seen.forked_at, "");
    EXPECT_EQ(seen.input.text, R"({"n":1})");
    EXPECT_EQ(seen.priority, 4);
    EXPECT_EQ(seen.max_attempts, 8);
    EXPECT_EQ(seen.parent, RunId(77));
    EXPECT_EQ(seen.tags.size(), 2U);
    EXPECT_FALSE(seen.idempotency_key);
    EXPECT_EQ(seen.created_at, start + 10s);
    EXPECT_EQ(step_ids(made.id()), (std::vector<std::string>{"a", "c"}));
    const StepInfo taken = step(made.id(), "a");
    EXPECT_EQ(taken.status, StepStatus::success);
    EXPECT_EQ(taken.output, Json{R"("one")"});
    EXPECT_EQ(taken.input, Json{"5"});
    EXPECT_EQ(taken.attempt, 2);
    EXPECT_EQ(taken.position, 1);
    EXPECT_EQ(taken.delivery, 0);
    EXPECT_EQ(taken.completed_at, start);
    EXPECT_TRUE(has_event(old, "retried"));
    EXPECT_TRUE(
        contains(store().run(old).events().back().data.text, std::to_string(made.id().value()))
    );
}

TEST_P(RetryForkTest, the_old_run_stays_as_it_is) {
    make_workflow();
    const RunId old = failed_run();
    const RunInfo before = info(old);
    (void)store().retry(old);
    EXPECT_EQ(status(old), RunStatus::error);
    EXPECT_EQ(info(old).completed_at, before.completed_at);
    EXPECT_EQ(step(old, "b").status, StepStatus::error);
}

TEST_P(RetryForkTest, the_first_claim_of_a_retry_returns_the_steps) {
    make_workflow();
    const RunId made = store().retry(failed_run()).id();
    const Held held = claim_one();
    EXPECT_EQ(held.id(), made);
    EXPECT_EQ(held.message.delivery, 1);
    ASSERT_EQ(held.run.steps.size(), 2U);
    EXPECT_EQ(held.run.steps[0].id, "a");
    EXPECT_EQ(held.run.steps[0].output, R"("one")");
    EXPECT_EQ(held.run.steps[1].id, "c");
}

TEST_P(RetryForkTest, only_failed_and_cancelled_runs_can_be_retried) {
    make_workflow();
    const Held held = trigger_and_claim();
    for (int i = 0; i < 2; ++i) {
        const Error error = error_of([&] { store().retry(held.id()); });
        EXPECT_EQ(error.code(), ErrorCode::run_not_failed);
        EXPECT_TRUE(contains(error.what(), i == 0 ? "RUNNING" : "SUCCESS"));
        commit(success(held.lease()));
    }
    const RunId cancelled = trigger();
    store().cancel(cancelled, "no");
    EXPECT_NO_THROW(store().retry(cancelled));
    EXPECT_EQ(error_of([&] { store().retry(RunId(4711)); }).code(), ErrorCode::run_not_found);
}

TEST_P(RetryForkTest, a_fork_copies_only_the_steps_before_its_step) {
    make_workflow();
    const RunId old = failed_run();
    const RunId at_c = store().fork(old, "c").id();
    EXPECT_EQ(step_ids(at_c), std::vector<std::string>{"a"});
    EXPECT_EQ(info(at_c).origin, old);
    EXPECT_EQ(info(at_c).forked_at, "c");
    EXPECT_TRUE(has_event(old, "forked"));
    EXPECT_EQ(step_ids(store().fork(old, "a").id()), std::vector<std::string>{});
    EXPECT_EQ(step_ids(store().fork(old, "d").id()), (std::vector<std::string>{"a", "c"}));
}

TEST_P(RetryForkTest, any_run_can_be_forked_but_the_step_must_exist) {
    make_workflow();
    const Held held = trigger_and_claim();
    commit(checkpoint(held.lease(), "a", 1));
    EXPECT_NO_THROW(store().fork(held.id(), "a")) << "a running one";
    commit(success(held.lease()));
    EXPECT_NO_THROW(store().fork(held.id(), "a")) << "a successful one";
    const Error error = error_of([&] { store().fork(held.id(), "nowhere"); });
    EXPECT_EQ(error.code(), ErrorCode::step_not_found);
    EXPECT_TRUE(contains(error.what(), "nowhere"));
    EXPECT_EQ(error_of([&] { store().fork(RunId(4711), "a"); }).code(), ErrorCode::run_not_found);
    EXPECT_EQ(store().runs().size(), 3U) << "nothing else was made";
}

TEST_P(RetryForkTest, the_family_is_found_from_each_of_its_members) {
    make_workflow();
    const RunId root = failed_run();
    const RunId child = store().retry(root).id();
    commit(failure(claim_one().lease()));
    const RunId grandchild = store().retry(child).id();
    const RunId fork = store().fork(root, "c").id();
    (void)trigger();
    const std::vector<RunId> family{root, child, grandchild, fork};
    for (const RunId member : family) EXPECT_EQ(ids_of(store().run(member).lineage()), family);
}

TEST_P(RetryForkTest, a_run_alone_is_its_own_family_and_an_unknown_one_an_error) {
    make_workflow();
    const RunId run = trigger();
    EXPECT_EQ(ids_of(store().run(run).lineage()), std::vector{run});
    EXPECT_EQ(
        error_of([&] { (void)store().run(RunId(4711)).lineage(); }).code(), ErrorCode::run_not_found
    );
}

}  // namespace
}  // namespace pawl::test
