// Claims and workers for only some steps of a flow.
#include <atomic>
#include <pawl/json.h>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowStepsTest : public FlowTest {
protected:
    [[nodiscard]] seam::Claim claim_steps(
        const std::vector<std::string>& steps, int count = 100, WorkerId worker = {}
    ) const {
        seam::ClaimRequest request;
        request.queues = {store().queue("flow").info().id};
        request.max_messages = count;
        request.worker = worker;
        request.work = seam::Work::tasks;
        request.steps = steps;
        return detail::Access::backend(store())->claim(request);
    }
    [[nodiscard]] static std::string steps_of(const seam::Claim& claim) {
        std::string text;
        for (const seam::ClaimedTask& task : claim.tasks)
            text += (text.empty() ? "" : ", ") + task.task.step;
        return text;
    }
};
PAWL_FOR_EACH_BACKEND(FlowStepsTest);

TEST_P(FlowStepsTest, a_claim_of_some_steps_takes_no_others) {
    diamond().create(store());
    const RunId run = start_flow("7");
    EXPECT_EQ(steps_of(claim_steps({"b", "c"})), "");
    const seam::Claim got = claim_steps({"a", "d"});
    ASSERT_EQ(steps_of(got), "a");
    EXPECT_EQ(flat(got.messages[0].payload), R"({"run":7})");
    EXPECT_EQ(commit(complete_write({got.messages[0], got.tasks[0]}, "1")), WriteStatus::done);
    EXPECT_EQ(steps_of(claim_steps({"c"})), "c");
    EXPECT_EQ(steps_of(claim_steps({"c"})), "");
    EXPECT_EQ(names(poll()), "b") << "a claim of the whole flow sees the rest";
    EXPECT_EQ(states(run), "a SUCCESS, b RUNNING, c RUNNING, d PENDING");
    EXPECT_EQ(steps_of(claim_steps({"nope"})), "");
}

TEST_P(FlowStepsTest, priority_and_arrival_order_the_tasks_of_several_steps) {
    flow("flow").step("a").step("b").step("c").create(store());
    (void)start_flow();
    const RunId urgent = start_flow("null", {.priority = 5});
    const seam::Claim got = claim_steps({"c", "a"}, 3);
    ASSERT_EQ(steps_of(got), "a, c, a");
    EXPECT_EQ(got.tasks[0].task.run, urgent);
    EXPECT_EQ(steps_of(claim_steps({"c", "a"}, 3)), "c");
}

TEST_P(FlowStepsTest, retries_delays_and_lost_leases_come_back_to_their_steps) {
    flow("flow").base_delay(1s).step("a").step("b", {}, {.start_delay = 10s}).create(store());
    const RunId run = start_flow();
    const seam::Claim first = claim_steps({"a", "b"}, 10, WorkerId(7));
    ASSERT_EQ(steps_of(first), "a");
    EXPECT_EQ(first.messages[0].visible_at, start + 30s) << "the worker's lease";
    EXPECT_EQ(first.next_due, start + 10s);
    advance(30s);
    const seam::Claim second = claim_steps({"a"}, 10, WorkerId(8));
    ASSERT_EQ(steps_of(second), "a");
    EXPECT_EQ(second.tasks[0].attempts, 1) << "a crash uses no attempt";
    EXPECT_EQ(commit(fail_write({second.messages[0], second.tasks[0]})), WriteStatus::done);
    EXPECT_EQ(steps_of(claim_steps({"a"})), "");
    EXPECT_EQ(steps_of(claim_steps({"b"})), "b");
    advance(2s);
    EXPECT_EQ(steps_of(claim_steps({"a"})), "a");
    EXPECT_EQ(task(run, "a").attempts, 2);
}

TEST_P(FlowStepsTest, a_task_that_kills_its_workers_is_poison_here_too) {
    flow("flow").step("a").create(store());
    const RunId run = start_flow();
    for (int i = 1; i <= 5; ++i) {
        ASSERT_EQ(steps_of(claim_steps({"a"}, 10, WorkerId(i))), "a");
        advance(30s);
    }
    EXPECT_EQ(steps_of(claim_steps({"a"}, 10, WorkerId(6))), "");
    EXPECT_EQ(status(run), RunStatus::error);
    EXPECT_EQ(task(run, "a").error, "poison: delivered 5 times without a report");
}

TEST_P(FlowStepsTest, a_paused_flow_gives_nothing) {
    flow("flow").step("a").create(store());
    (void)start_flow();
    store().queue("flow").pause();
    EXPECT_EQ(steps_of(claim_steps({"a"})), "");
    store().queue("flow").resume();
    EXPECT_EQ(steps_of(claim_steps({"a"})), "a");
}

TEST_P(FlowStepsTest, two_workers_share_a_flow_by_its_steps) {
    testing::restore_clock(store());
    flow("flow").step("a").map("each", "a").step("sum", {"each"}).create(store());
    std::atomic<int> lists = 0;
    auto lister = worker("lister")
                      .flow(
                          "flow",
                          FlowHandlers().on(
                              "a",
                              [&](TaskContext&) {
                                  ++lists;
                                  return std::vector<int>{1, 2, 3};
                              }
                          )
                      )
                      .create(store());
    auto others = worker("others")
                      .flow(
                          "flow",
                          FlowHandlers()
                              .on("each", [](TaskContext&, int n) { return n * 10; })
                              .on("sum",
                                  [](TaskContext&, const nlohmann::json& input) {
                                      int sum = 0;
                                      for (const auto& value : input.at("each"))
                                          sum += value.get<int>();
                                      return sum;
                                  })
                      )
                      .create(store());
    others.start();
    lister.start();
    std::vector<RunId> runs;
    for (int i = 0; i < 20; ++i) runs.push_back(start_flow());
    for (const RunId run : runs) EXPECT_EQ(flat(store().run(run).wait_json(40s)), R"({"sum":60})");
    EXPECT_EQ(lists, 20);
    for (const TaskInfo& task : store().run(runs.front()).tasks()) EXPECT_EQ(task.attempts, 1);
}

}  // namespace
}  // namespace pawl::test
