// Live handlers, and runs without one.
#include "support/workflow_test.h"

namespace pawl::test {
namespace {

class UnhandledTest : public WorkflowTest {
protected:
    void SetUp() override {
        WorkflowTest::SetUp();
        freeze();
    }
    WorkerId register_worker(const std::vector<std::string>& handlers) const {
        seam::NewWorker worker;
        worker.name = "w";
        worker.host = "here";
        worker.lease = 30s;
        worker.handlers = handlers;
        worker.subscriptions = handlers;
        return detail::Access::backend(store())->register_worker(worker);
    }
    std::vector<RunId> fail_unhandled(const std::vector<std::string>& prefixes) const {
        return detail::Access::backend(store())->fail_unhandled(prefixes);
    }
    bool handled(const std::string& name) const {
        return detail::Access::backend(store())->has_live_handler(name);
    }
};
PAWL_FOR_EACH_BACKEND(UnhandledTest);

TEST_P(UnhandledTest, a_live_handler_is_one_of_a_worker_that_beats_and_is_not_stopped) {
    make_workflow();
    EXPECT_FALSE(handled("job"));
    const WorkerId worker = register_worker({"other", "job"});
    EXPECT_TRUE(handled("job"));
    EXPECT_FALSE(handled("jo"));
    EXPECT_FALSE(handled("nowhere"));
    advance(31s);
    EXPECT_FALSE(handled("job")) << "it is lost";
    detail::Access::backend(store())->heartbeat(worker, {});
    EXPECT_TRUE(handled("job"));
    store().transition_worker(worker, WorkerEvent::stop);
    EXPECT_FALSE(handled("job"));
}

TEST_P(UnhandledTest, ready_runs_below_the_prefix_without_a_handler_fail_with_an_event) {
    make_workflow("graves");
    make_workflow("billing.a", {.dead_letter_workflow = "graves"});
    make_workflow("billing.b");
    make_workflow("media.a");
    register_worker({"billing.b"});
    const RunId lost = trigger("billing.a");
    const RunId good = trigger("billing.b");
    const RunId other = trigger("media.a");
    EXPECT_EQ(fail_unhandled({"billing."}), std::vector{lost});
    const RunInfo seen = info(lost);
    EXPECT_EQ(seen.status, RunStatus::error);
    EXPECT_EQ(error_in(seen.error).type, "no_handler_registered");
    EXPECT_TRUE(contains(error_in(seen.error).message, "billing.a"));
    EXPECT_EQ(seen.completed_at, start);
    EXPECT_EQ(event_kinds(lost), "no_handler_registered");
    EXPECT_FALSE(message_of(lost, "billing.a"));
    EXPECT_EQ(store().runs({.workflow = "graves"}).size(), 1U);
    EXPECT_EQ(status(good), RunStatus::queued);
    EXPECT_EQ(status(other), RunStatus::queued);
    EXPECT_TRUE(fail_unhandled({"billing."}).empty()) << "nothing is left to do";
}

TEST_P(UnhandledTest, a_prefix_is_not_a_pattern) {
    for (const std::string name : {"a_b.x", "axb.x"}) make_workflow(name);
    const RunId meant = trigger("a_b.x");
    const RunId other = trigger("axb.x");
    EXPECT_EQ(fail_unhandled({"a_b."}), std::vector{meant});
    EXPECT_EQ(status(other), RunStatus::queued);
    EXPECT_TRUE(fail_unhandled({"A"}).empty()) << "case counts";
    EXPECT_TRUE(fail_unhandled({}).empty());
    EXPECT_EQ(fail_unhandled({"zzz", "axb."}), std::vector{other});
}

TEST_P(UnhandledTest, runs_that_are_not_due_or_were_started_are_left_alone) {
    make_workflow();
    const RunId started = trigger();
    const Held held = claim_one();
    commit(pause_step(held.lease(), "ask", 1, 1s));
    const RunId delayed = trigger("job", {}, {.delay = 10s});
    advance(2s);
    EXPECT_TRUE(fail_unhandled({"job"}).empty());
    EXPECT_EQ(status(started), RunStatus::paused) << "its worker may be in a restart";
    advance(8s);
    EXPECT_EQ(fail_unhandled({"job"}), std::vector{delayed});
}

TEST_P(UnhandledTest, a_worker_that_was_lost_does_not_count) {
    make_workflow();
    register_worker({"job"});
    const RunId run = trigger();
    EXPECT_TRUE(fail_unhandled({"job"}).empty());
    advance(31s);
    EXPECT_EQ(fail_unhandled({"job"}), std::vector{run});
}

TEST_P(UnhandledTest, a_call_is_bounded) {
    make_workflow();
    (void)trigger_many(2'500);
    std::size_t total = 0;
    for (int calls = 0; calls < 20; ++calls) {
        const auto part = fail_unhandled({"job"});
        EXPECT_LE(part.size(), 1'000U);
        total += part.size();
        if (part.empty()) break;
    }
    EXPECT_EQ(total, 2'500U);
    EXPECT_EQ(store().count_runs().error, 2'500);
}

}  // namespace
}  // namespace pawl::test
