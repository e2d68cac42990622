// Live runs and open tasks that have lost their message are found and restored.
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class RepairTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        make_workflow();
    }
    // A run and its message have the same id.
    void lose(RunId run) const { kit().lose_message(MessageId(run.value())); }
    [[nodiscard]] std::vector<RunId> lost_runs() const {
        std::vector<RunId> runs;
        for (const LostWork& lost : store().find_lost_work()) runs.push_back(lost.run);
        return runs;
    }
    static std::string text(const std::vector<LostWork>& work) {
        std::string all;
        for (const LostWork& one : work) {
            if (!all.empty()) all += ", ";
            all += one.workflow;
            if (!one.step.empty()) all += "/" + one.step + "." + std::to_string(one.task_index);
        }
        return all;
    }
};
PAWL_FOR_EACH_BACKEND(RepairTest);

TEST_P(RepairTest, a_healthy_store_has_no_lost_work) {
    diamond().create(store());
    (void)trigger_many(3);
    (void)start_flow();
    const Held held = claim_one();
    EXPECT_EQ(commit(pause_step(held.lease(), "ask", 1, 1h)), WriteStatus::done);
    (void)claim_task();
    EXPECT_TRUE(store().find_lost_work().empty());
    EXPECT_TRUE(store().repair().empty());
}

TEST_P(RepairTest, lost_runs_are_found_and_restored_in_every_state) {
    const auto runs = trigger_many(5);
    const auto held = claim_many(3);
    EXPECT_EQ(commit(checkpoint(held[0].lease(), "a", 1, "5")), WriteStatus::done);
    EXPECT_EQ(commit(pause_step(held[1].lease(), "ask", 1, 1h)), WriteStatus::done);
    EXPECT_EQ(commit(success(held[2].lease())), WriteStatus::done);
    for (const std::size_t i : {0U, 1U, 2U, 3U}) lose(runs[i]);
    auto found = lost_runs();
    std::ranges::sort(found);
    EXPECT_EQ(found, (std::vector{runs[0], runs[1], runs[3]})) << "not the one that has ended";

    EXPECT_EQ(store().repair().size(), 3U);
    EXPECT_TRUE(lost_runs().empty());
    EXPECT_TRUE(store().repair().empty());
    EXPECT_EQ(status(runs[2]), RunStatus::success);
    EXPECT_TRUE(has_event(runs[0], "repaired"));
    EXPECT_EQ(claim_many(4).size(), 4U);
    EXPECT_EQ(status(runs[1]), RunStatus::running);
    EXPECT_EQ(step(runs[0], "a").output, Json{"5"}) << "recorded steps stay";
}

TEST_P(RepairTest, earlier_holders_of_a_lost_run_stay_fenced) {
    const RunId run = trigger();
    Held held = claim_one();
    for (int i = 0; i < 3; ++i) {
        EXPECT_EQ(commit(retry_step(held.lease(), "a", 1, 1, 1s)), WriteStatus::done);
        advance(1s);
        held = claim_one();
    }
    lose(run);
    EXPECT_EQ(store().repair().size(), 1U);
    const Held again = claim_one();
    EXPECT_GT(again.message.delivery, held.message.delivery);
    EXPECT_EQ(commit(success(held.lease(), "1")), WriteStatus::lease_lost);
    EXPECT_EQ(commit(success(again.lease(), "2")), WriteStatus::done);
    EXPECT_EQ(info(run).output, Json{"2"});
}

TEST_P(RepairTest, a_worker_finishes_a_restored_run) {
    const RunId run = trigger("job", Json{"20"});
    lose(run);
    EXPECT_EQ(store().repair().size(), 1U);
    testing::restore_clock(store());
    Worker worker =
        worker_for([](Context& ctx, int n) { return ctx.step("a", [&] { return n + 1; }); });
    worker.start();
    EXPECT_TRUE(finished(run));
    EXPECT_EQ(info(run).output, Json{"21"});
}

TEST_P(RepairTest, lost_tasks_are_found_and_restored) {
    diamond().create(store());
    const RunId run = start_flow();
    work_step("a");
    for (const TaskInfo& task : store().run(run).tasks()) {
        if (task.status == TaskStatus::queued) kit().lose_message(task.message);
    }
    EXPECT_EQ(text(store().find_lost_work()), "flow/b.0, flow/c.0");
    EXPECT_EQ(text(store().repair()), "flow/b.0, flow/c.0");
    EXPECT_EQ(drain(), 3);
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(RepairTest, a_lost_task_that_ran_is_queued_again_and_its_holder_fenced) {
    diamond().create(store());
    const RunId run = start_flow();
    const HeldTask held = claim_task();
    kit().lose_message(held.message.id);
    EXPECT_EQ(text(store().repair()), "flow/a.0");
    EXPECT_EQ(task(run, "a").status, TaskStatus::queued);
    EXPECT_NE(commit(complete_write(held)), WriteStatus::done);
    EXPECT_EQ(commit(complete_write(claim_task())), WriteStatus::done);
}

TEST_P(RepairTest, wake_does_not_claim_success_for_a_lost_run) {
    diamond().create(store());
    const RunId run = trigger();
    const RunId of_flow = start_flow();
    lose(run);
    kit().lose_message(store().run(of_flow).tasks()[0].message);
    for (const RunId lost : {run, of_flow}) {
        const Error error = error_of([&] { store().wake(lost); });
        EXPECT_EQ(error.code(), ErrorCode::message_not_found);
        EXPECT_TRUE(contains(error.what(), "has no message; restore it with repair()"));
        EXPECT_FALSE(has_event(lost, "woken"));
    }
}

TEST_P(RepairTest, verify_names_lost_work) {
    testing::restore_clock(store());
    const RunId run = trigger();
    EXPECT_TRUE(store().verify().ok());
    lose(run);
    const SchemaReport report = store().verify();
    EXPECT_FALSE(report.ok());
    EXPECT_TRUE(report.findings.empty());
    ASSERT_EQ(report.lost_work.size(), 1U);
    EXPECT_EQ(
        to_string(report.lost_work[0]), "run " + std::to_string(run.value()) + " of workflow 'job'"
    );
}

TEST_P(RepairTest, all_live_runs_are_checked_page_by_page) {
    make_workflow("other");
    std::vector<RunId> runs;
    for (int i = 0; i < 13; ++i) {
        (void)trigger_many(100, i % 2 == 0 ? "job" : "other");
        runs.push_back(trigger(i % 2 == 0 ? "job" : "other"));
    }
    for (const RunId run : runs) lose(run);
    auto found = lost_runs();
    std::ranges::sort(found);
    EXPECT_EQ(found, runs);
    EXPECT_EQ(store().repair().size(), runs.size());
}

}  // namespace
}  // namespace pawl::test
