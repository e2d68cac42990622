// Processes that crash while they execute tasks of a flow.
#include <atomic>
#include <csignal>
#include <thread>

#include "crash/crashed.h"
#include "crash/sessions.h"
#include "crash/stopped.h"
#include "support/flow_test.h"
#include "support/process.h"

namespace pawl::test {
namespace {

class FlowCrashTest : public FlowTest {
protected:
    static constexpr int short_lease_ms = 150;
    static constexpr int long_lease_ms = 60'000;

    void SetUp() override {
        FlowTest::SetUp();
        testing::restore_clock(store());
    }
    // For polls, the lease of a task without a timeout is that of the poll.
    void make(const std::string& name, int max_attempts = 100, Duration timeout = 0s) const {
        flow(name)
            .max_attempts(max_attempts)
            .base_delay(0s)
            .timeout(timeout)
            .map("each")
            .step("sum", {"each"})
            .create(store());
    }
    Process start_process(
        const std::string& mode,
        const std::string& name,
        int fail_point,
        int lease_ms = short_lease_ms
    ) const {
        return Process(
            {PAWL_FLOW_CRASH_WORKER,
             mode,
             doomed_url(place()),
             name,
             std::to_string(lease_ms),
             std::to_string(fail_point)}
        );
    }
    // Sets the times as if the lease had elapsed.
    void end_lease(MessageId message) const {
        const auto mine = database();
        const std::string table = place().table("messages");
        mine->run(
            "update " + table +
            " set visible_at = enqueued_at where message_id = " + std::to_string(message.value())
        );
    }
    // The observable state of the runs, without times and attempts.
    std::string end_state(const std::string& name) const {
        std::string state;
        for (const RunInfo& run : store().runs({.workflow = name})) {
            state += std::string(to_string(run.status)) + " " + flat(run.output) + " " +
                     std::to_string(run.remaining_steps.value_or(-1));
            for (const StepInfo& step : store().run(run.id).steps())
                state += "; " + step.id + " " + std::string(to_string(step.status)) + " " +
                         flat(step.output);
            state += "; " + task_states(run.id) + "\n";
        }
        return state;
    }
    // Returns false if the process completed without reaching its fail point.
    bool crash_at(int point, const std::string& expected) const {
        const std::string name = "flow_" + std::to_string(point);
        make(name);
        const int code = start_process("by_hand", name, point).wait();
        if (code == 0) {
            EXPECT_EQ(end_state(name), expected);
            return false;
        }
        EXPECT_EQ(code, crashed);
        EXPECT_EQ(start_process("by_hand", name, 0).wait(), 0) << "after fail point " << point;
        EXPECT_EQ(end_state(name), expected) << "after fail point " << point;
        return true;
    }
};
PAWL_FOR_EACH_BACKEND(FlowCrashTest);

TEST_P(FlowCrashTest, a_death_at_any_storage_call_leads_to_the_same_end) {
    make("flow_0");
    ASSERT_EQ(start_process("by_hand", "flow_0", 0).wait(), 0);
    const std::string expected = end_state("flow_0");
    ASSERT_EQ(
        expected,
        "SUCCESS {\"sum\":60} 0; each SUCCESS [10,20,30]; sum SUCCESS 60; "
        "each.0 SUCCESS, each.1 SUCCESS, each.2 SUCCESS, sum.0 SUCCESS\n"
    );
    // Several in parallel, because they mostly wait for the lease of the crashed process.
    std::atomic<int> next = 1;
    std::atomic<int> through = 0;
    std::atomic<int> crashes = 0;
    {
        std::vector<std::jthread> lanes;
        for (int lane = 0; lane < 4; ++lane) {
            lanes.emplace_back([&] {
                while (through == 0 && next < 500 && !HasFatalFailure()) {
                    try {
                        ++(crash_at(next++, expected) ? crashes : through);
                    } catch (const std::exception& error) {
                        ADD_FAILURE() << error.what();
                        return;
                    }
                }
            });
        }
    }
    EXPECT_GE(through, 1) << "the loop ends when no fail point is left";
    EXPECT_GE(crashes, 10) << "else the fail points are not where they should be";
    RecordProperty("fail_points", crashes);
}

TEST_P(FlowCrashTest, a_worker_killed_in_a_task_is_replaced_and_only_that_task_runs_again) {
    make("flow");
    const RunId run = start_flow("[1,2,3]");
    Process doomed = start_process("worker", "flow", 0, long_lease_ms);
    ASSERT_EQ(doomed.read_line(), "hanging");
    ASSERT_TRUE(eventually([&] { return step(run, "each").remaining_tasks == 1; }));
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
    ASSERT_TRUE(sessions_have_ended(place(), *database()));
    end_lease(task(run, "each", 1).message);
    Process rescuer = start_process("worker", "flow", 0, long_lease_ms);
    EXPECT_EQ(flat(store().run(run).wait_json(40s)), R"({"sum":60})");
    EXPECT_EQ(task(run, "each", 0).attempts, 1);
    EXPECT_EQ(task(run, "each", 1).attempts, 1) << "a crash uses no attempt";
    EXPECT_EQ(task(run, "each", 1).delivery, 2);
    EXPECT_EQ(task(run, "each", 2).attempts, 1);
    EXPECT_EQ(count(Rows::messages), 0);
}

// With the task's timeout of an hour as its lease, the second worker would not get it within this
// test; and if the only attempt were used, the run would fail.
TEST_P(FlowCrashTest, a_crash_costs_the_workers_lease_and_no_attempt_for_any_timeout) {
    make("flow", 1, 1h);
    const RunId run = start_flow("[1,2,3]");
    Process doomed = start_process("worker", "flow", 0);
    ASSERT_EQ(doomed.read_line(), "hanging");
    doomed.signal(SIGKILL);
    EXPECT_EQ(doomed.wait(), -SIGKILL);
    Process rescuer = start_process("worker", "flow", 0);
    EXPECT_EQ(flat(store().run(run).wait_json(40s)), R"({"sum":60})");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(task(run, "each", i).attempts, 1) << i;
    EXPECT_EQ(task(run, "each", 1).delivery, 2);
    EXPECT_TRUE(has_event(run, "lease_lost"));
}

TEST_P(FlowCrashTest, a_stopped_poller_that_wakes_after_its_lease_can_report_nothing) {
    make("flow");
    const RunId run = start_flow("[2]");
    Process sleeper = start_process("worker", "flow", 0);
    ASSERT_EQ(sleeper.read_line(), "hanging");
    const int delivery = task(run, "each").delivery;
    stop_process(sleeper, *database());
    Process other = start_process("worker", "flow", 0);
    EXPECT_EQ(flat(store().run(run).wait_json(40s)), R"({"sum":20})");
    EXPECT_EQ(store().complete_task({run, "each", 0}, Json{"7"}, delivery), TaskOutcome::finished)
        << "what the sleeper would say";
    EXPECT_EQ(flat(step(run, "each").output), "[20]");
}

}  // namespace
}  // namespace pawl::test
