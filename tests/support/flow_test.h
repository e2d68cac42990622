// The fixture for flows: tasks by the store's functions and at the seam (claim, commit), with a
// stopped clock.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "support/workflow_test.h"

namespace pawl::test {

// A task that the test has claimed, like a worker.
struct HeldTask {
    Message message;
    seam::ClaimedTask claimed;
    [[nodiscard]] Lease lease() const { return message.lease(); }
    [[nodiscard]] const TaskRef& ref() const { return claimed.task; }
};

class FlowTest : public WorkflowTest {
protected:
    void SetUp() override;

    // a -> b, a -> c, {b, c} -> d.
    [[nodiscard]] static Flow diamond(const std::string& slug = "flow");
    [[nodiscard]] RunId start_flow(
        const std::string& input = "null",
        const TriggerOptions& options = {},
        const std::string& slug = "flow"
    ) const;

    // --- by the store's functions ---
    [[nodiscard]] std::vector<Task> poll(int qty = 100, const std::string& slug = "flow") const;
    [[nodiscard]] Task poll_one(const std::string& slug = "flow") const;
    // The only due task must belong to this step.
    [[nodiscard]] Task poll_step(const std::string& step, const std::string& slug = "flow") const;
    TaskOutcome complete(const Task& task, const std::string& output = "null") const;
    TaskOutcome fail(const Task& task, const std::string& error = "no luck") const;
    // Polls `step` and completes it.
    void work_step(
        const std::string& step,
        const std::string& output = "null",
        const std::string& slug = "flow"
    ) const;
    // Polls and fails `step` until its attempts are used up; advances the clock over the retries.
    void exhaust_step(const std::string& step, const std::string& slug = "flow") const;
    // Polls and completes until nothing is due. Returns the number of tasks.
    using Output = std::function<std::string(const Task&)>;
    int drain(const Output& output = {}, const std::string& slug = "flow") const;

    // --- at the seam ---
    [[nodiscard]] seam::Claim claim_work(
        int count = 100,
        const std::string& slug = "flow",
        WorkerId worker = {},
        std::optional<Duration> lease = {}
    ) const;
    [[nodiscard]] std::vector<HeldTask> claim_tasks(
        int count = 100, const std::string& slug = "flow", WorkerId worker = {}
    ) const;
    [[nodiscard]] HeldTask claim_task(const std::string& slug = "flow", WorkerId worker = {}) const;

    // --- reading ---
    // "a SUCCESS, b PENDING": every step with its status, by index.
    [[nodiscard]] std::string states(RunId run) const;
    // "a.0 SUCCESS, b.0 QUEUED": every task with its status.
    [[nodiscard]] std::string task_states(RunId run) const;
    [[nodiscard]] TaskInfo task(RunId run, const std::string& step, int index = 0) const;
    [[nodiscard]] std::string output_of(RunId run) const;
    [[nodiscard]] std::optional<Message> message(const MessageId& id) const;
    // The data of the run's only event of that kind, its members by name.
    [[nodiscard]] std::string event_data(RunId run, const std::string& kind) const;
};

// "a, b.2": the steps of the tasks, with the index if it is not 0; in the given order.
std::string names(const std::vector<Task>& tasks);
// Without blanks; members stay in their order. Throws if it is not JSON.
std::string flat(const Json& json);
std::string flat(const std::optional<Json>& json);

Write complete_write(const HeldTask& held, const std::string& output = "null");
Write fail_write(const HeldTask& held, const std::string& error = "no luck");
Write delegate_write(const HeldTask& held, const NewRun& called);
Write extend_write(const HeldTask& held, Duration lease);
Write release_write(const HeldTask& held, Duration delay = {});
Write hand_back_write(const HeldTask& held);

}  // namespace pawl::test

namespace pawl {

inline void PrintTo(TaskStatus status, std::ostream* out) {
    *out << to_string(status);
}
inline void PrintTo(TaskOutcome outcome, std::ostream* out) {
    *out << to_string(outcome);
}
inline void PrintTo(EnsuredFlow ensured, std::ostream* out) {
    *out << static_cast<int>(ensured);
}
inline void PrintTo(const Json& json, std::ostream* out) {
    *out << json.text;
}

}  // namespace pawl
