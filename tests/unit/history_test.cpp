// The order of a run's history, without duplicates.
#include "model/history.h"

#include <gtest/gtest.h>

#include "support/times.h"

namespace pawl::test {
namespace {

using model::merge_history;

const Timestamp noon = time_of("2026-01-31 12:00");

model::RunRows new_run() {
    model::RunRows rows;
    rows.run.id = RunId(1);
    rows.run.input = Json{"1"};
    rows.run.created_at = noon;
    return rows;
}

StepInfo done_step(const std::string& id, int position, int delivery, Timestamp at) {
    StepInfo step;
    step.id = id;
    step.position = position;
    step.status = StepStatus::success;
    step.attempt = 1;
    step.delivery = delivery;
    step.started_at = at;
    step.completed_at = at;
    return step;
}

RunEvent event(std::int64_t id, const std::string& kind, int delivery, const std::string& data) {
    return {id, RunId(1), kind, Json{data}, {}, delivery, noon};
}

std::string kinds(const std::vector<HistoryEntry>& entries) {
    std::string told;
    for (const HistoryEntry& entry : entries)
        told +=
            (told.empty() ? "" : ", ") + entry.kind + (entry.step.empty() ? "" : " " + entry.step);
    return told;
}

TEST(HistoryModelTest, deliveries_with_equal_times_are_in_order) {
    model::RunRows rows = new_run();
    rows.run.started_at = noon;
    rows.run.delivery = 2;
    rows.steps = {done_step("b", 2, 2, noon), done_step("a", 1, 1, noon)};
    EXPECT_EQ(
        kinds(merge_history(
            rows,
            {event(1, "started", 1, "{}"),
             event(2, "lease_lost", 1, "{}"),
             event(3, "started", 2, "{}")}
        )),
        "triggered, started, step_started a, step_succeeded a, lease_lost, started, step_started "
        "b, step_succeeded b"
    );
}

TEST(HistoryModelTest, time_goes_before_everything_else) {
    model::RunRows rows = new_run();
    rows.run.started_at = noon + 1s;
    rows.steps = {done_step("a", 2, 2, noon + 2s), done_step("b", 1, 1, noon + 3s)};
    EXPECT_EQ(
        kinds(merge_history(rows, {})),
        "triggered, started, step_started a, step_succeeded a, step_started b, step_succeeded b"
    );
}

TEST(HistoryModelTest, an_event_that_repeats_a_row_only_adds_the_actor) {
    model::RunRows rows = new_run();
    rows.run.started_at = noon;
    RunEvent started = event(1, "started", 3, "{}");
    started.worker = WorkerId(9);
    const auto told = merge_history(rows, {started});
    ASSERT_EQ(kinds(told), "triggered, started");
    EXPECT_EQ(told[1].worker, WorkerId(9));
    EXPECT_EQ(told[1].delivery, 3);
}

TEST(HistoryModelTest, the_reason_of_a_cancel_comes_from_the_event_with_the_actor) {
    model::RunRows rows = new_run();
    rows.run.status = RunStatus::cancelled;
    rows.run.completed_at = noon;
    rows.run.error = Json{R"({"type":"cancelled","message":"enough"})"};
    EXPECT_EQ(merge_history(rows, {}).back().text, "cancelled: enough");
    const auto told = merge_history(
        rows, {event(1, "cancelled", 0, R"({"type":"cancelled","message":"enough","by":"ada"})")}
    );
    ASSERT_EQ(kinds(told), "triggered, cancelled");
    EXPECT_EQ(told[1].text, "cancelled by ada: enough");
}

TEST(HistoryModelTest, an_unknown_kind_is_listed_by_its_name) {
    const auto told = merge_history(new_run(), {event(1, "painted", 0, "not JSON")});
    ASSERT_EQ(told.size(), 2U);
    EXPECT_EQ(told[1].text, "painted");
}

TEST(HistoryModelTest, tasks_of_a_map_stand_between_its_start_and_its_end) {
    model::RunRows rows = new_run();
    rows.run.remaining_steps = 0;
    StepInfo step = done_step("each", 0, 0, noon);
    step.initial_tasks = 2;
    rows.steps = {step};
    for (const int index : {1, 0}) {
        TaskInfo task;
        task.task = {RunId(1), "each", index};
        task.status = TaskStatus::success;
        task.attempts = 1;
        task.started_at = noon;
        task.completed_at = noon;
        rows.tasks.push_back(task);
    }
    const auto told = merge_history(rows, {});
    EXPECT_EQ(
        kinds(told),
        "triggered, step_started each, task_started each, task_succeeded each, task_started each, "
        "task_succeeded each, step_succeeded each"
    );
    EXPECT_EQ(told[2].task_index, 0);
    EXPECT_EQ(told[4].task_index, 1);
}

}  // namespace
}  // namespace pawl::test
