// Several concurrent pollers: no task is delivered twice, no step starts twice.
#include <atomic>
#include <barrier>
#include <map>
#include <mutex>
#include <thread>

#include "support/flow_test.h"

namespace pawl::test {
namespace {

class FlowRaceTest : public FlowTest {
protected:
    void SetUp() override {
        FlowTest::SetUp();
        testing::restore_clock(store());
    }
    static void commit_until_done(const Store& store, std::vector<Write> writes) {
        while (!writes.empty()) {
            const auto outcomes = detail::Access::backend(store)->commit(writes, Attempt::first);
            std::vector<Write> again;
            for (std::size_t i = 0; i < writes.size(); ++i) {
                if (outcomes[i].status == WriteStatus::busy) {
                    again.push_back(writes[i]);
                } else {
                    EXPECT_EQ(outcomes[i].status, WriteStatus::done) << outcomes[i].error;
                }
            }
            writes = std::move(again);
        }
    }
};
PAWL_FOR_EACH_BACKEND(FlowRaceTest);

TEST_P(FlowRaceTest, a_join_starts_once_whichever_dependency_is_last) {
    diamond().create(store());
    constexpr int rounds = 60;
    const std::vector<Store> stores{open(), open()};
    std::vector<HeldTask> held;
    std::barrier go(2);
    for (int round = 0; round < rounds; ++round) {
        const RunId run = start_flow("0");
        work_step("a", "1");
        held = claim_tasks();
        ASSERT_EQ(held.size(), 2U);
        {
            std::vector<std::jthread> racers;
            for (std::size_t i = 0; i < 2; ++i) {
                racers.emplace_back([&, i] {
                    go.arrive_and_wait();
                    // By user calls, in a worker's batch, and mixed.
                    if ((round + static_cast<int>(i) * (round / 2)) % 2 == 0) {
                        EXPECT_EQ(
                            stores[i].complete_task(
                                held[i].ref(), Json{"2"}, held[i].lease().delivery
                            ),
                            TaskOutcome::done
                        );
                    } else {
                        commit_until_done(stores[i], {complete_write(held[i], "2")});
                    }
                });
            }
        }
        ASSERT_EQ(states(run), "a SUCCESS, b SUCCESS, c SUCCESS, d RUNNING");
        ASSERT_EQ(task_states(run), "a.0 SUCCESS, b.0 SUCCESS, c.0 SUCCESS, d.0 QUEUED");
        const Task d = poll_step("d");
        ASSERT_EQ(flat(d.input), R"({"run":0,"b":2,"c":2})");
        complete(d);
        ASSERT_EQ(status(run), RunStatus::success);
        ASSERT_EQ(info(run).remaining_steps, 0);
    }
    EXPECT_EQ(count(Rows::messages), 0);
}

TEST_P(FlowRaceTest, pollers_that_drain_many_flows_get_each_task_once) {
    diamond().create(store());
    constexpr int flows = 60;
    std::vector<NewRun> batch(flows, NewRun{"flow", Json{"0"}, {}});
    const auto runs = store().trigger(batch);
    std::mutex mutex;
    std::map<std::pair<std::int64_t, std::string>, int> handed_out;
    std::atomic<int> done = 0;
    {
        std::vector<std::jthread> pollers;
        for (int i = 0; i < 3; ++i) {
            pollers.emplace_back([&, i] {
                const Store mine = open();
                const auto over = [&] { return done >= flows * 4 || HasFailure(); };
                while (!over()) {
                    const auto tasks = mine.poll_for_tasks("flow", 1 + i * 3);
                    for (const Task& task : tasks) {
                        {
                            const std::lock_guard lock(mutex);
                            ++handed_out[{task.task.run.value(), task.task.step}];
                        }
                        EXPECT_EQ(
                            mine.complete_task(task.task, Json{"1"}, task.delivery),
                            TaskOutcome::done
                        );
                        ++done;
                    }
                    if (tasks.empty()) std::this_thread::yield();
                }
            });
        }
    }
    EXPECT_EQ(handed_out.size(), std::size_t(flows) * 4);
    for (const auto& [task, times] : handed_out) EXPECT_EQ(times, 1) << task.second;
    for (const Run& run : runs) EXPECT_EQ(run.status(), RunStatus::success);
}

TEST_P(FlowRaceTest, workers_that_complete_one_map_together_finish_it_once) {
    flow("flow").map("each").step("after", {"each"}).create(store());
    std::string list = "[0";
    for (int i = 1; i < 120; ++i) list += "," + std::to_string(i);
    const RunId run = start_flow(list + "]");
    {
        std::vector<std::jthread> workers;
        for (int i = 0; i < 3; ++i) {
            workers.emplace_back([&] {
                const Store mine = open();
                seam::ClaimRequest request;
                request.queues = {mine.queue("flow").info().id};
                request.max_messages = 7;
                request.work = seam::Work::tasks;
                while (mine.run(run).step("each").status == StepStatus::running && !HasFailure()) {
                    const seam::Claim got = detail::Access::backend(mine)->claim(request);
                    std::vector<Write> writes;
                    for (std::size_t k = 0; k < got.messages.size(); ++k) {
                        // Tasks after the map stay for the end of the test.
                        const HeldTask held{got.messages[k], got.tasks[k]};
                        writes.push_back(
                            held.ref().step == "each"
                                ? complete_write(held, held.message.payload.text)
                                : hand_back_write(held)
                        );
                    }
                    commit_until_done(mine, writes);
                }
            });
        }
    }
    EXPECT_EQ(flat(step(run, "each").output), list + "]");
    EXPECT_EQ(step(run, "each").remaining_tasks, 0);
    EXPECT_EQ(
        std::ranges::count_if(
            store().run(run).tasks(), [](const TaskInfo& task) { return task.task.step == "after"; }
        ),
        1
    );
    work_step("after");
    EXPECT_EQ(status(run), RunStatus::success);
}

TEST_P(FlowRaceTest, a_cancel_races_with_completions) {
    diamond().create(store());
    const Store other = open();
    for (int round = 0; round < 30; ++round) {
        const RunId run = start_flow();
        const Task a = poll_step("a");
        TaskOutcome outcome = TaskOutcome::done;
        {
            std::jthread canceller([&] { other.cancel(run, "no"); });
            outcome = complete(a, "1");
        }
        ASSERT_EQ(status(run), RunStatus::cancelled);
        ASSERT_TRUE(outcome == TaskOutcome::done || outcome == TaskOutcome::cancelled);
        ASSERT_EQ(
            states(run),
            (outcome == TaskOutcome::done ? std::string("a SUCCESS") : "a CANCELLED") +
                ", b CANCELLED, c CANCELLED, d CANCELLED"
        );
        ASSERT_EQ(count(Rows::messages), 0);
    }
}

}  // namespace
}  // namespace pawl::test
