#include "support/flow_test.h"

#include <nlohmann/json.hpp>

namespace pawl::test {

void FlowTest::SetUp() {
    WorkflowTest::SetUp();
    freeze();
}

Flow FlowTest::diamond(const std::string& slug) {
    return flow(slug).step("a").step("b", {"a"}).step("c", {"a"}).step("d", {"b", "c"});
}

RunId FlowTest::start_flow(
    const std::string& input, const TriggerOptions& options, const std::string& slug
) const {
    return trigger(slug, Json{input}, options);
}

std::vector<Task> FlowTest::poll(int qty, const std::string& slug) const {
    return store().poll_for_tasks(slug, qty);
}

Task FlowTest::poll_one(const std::string& slug) const {
    auto tasks = poll(1, slug);
    if (tasks.size() != 1) throw std::runtime_error("expected a task of flow " + slug);
    return tasks.front();
}

Task FlowTest::poll_step(const std::string& step, const std::string& slug) const {
    auto tasks = poll(100, slug);
    if (tasks.size() != 1 || tasks.front().task.step != step)
        throw std::runtime_error("expected a task of " + step + ", got: " + names(tasks));
    return tasks.front();
}

TaskOutcome FlowTest::complete(const Task& task, const std::string& output) const {
    return store().complete_task(task.task, Json{output}, task.delivery);
}

TaskOutcome FlowTest::fail(const Task& task, const std::string& error) const {
    return store().fail_task(task.task, error, task.delivery);
}

void FlowTest::work_step(
    const std::string& step, const std::string& output, const std::string& slug
) const {
    const TaskOutcome outcome = complete(poll_step(step, slug), output);
    if (outcome != TaskOutcome::done)
        throw std::runtime_error(step + " is not done: " + std::string(to_string(outcome)));
}

void FlowTest::exhaust_step(const std::string& step, const std::string& slug) const {
    while (true) {
        const Task got = poll_step(step, slug);
        EXPECT_EQ(fail(got), TaskOutcome::done);
        if (task(got.task.run, step, got.task.task_index).status != TaskStatus::queued) return;
        advance(1h);
    }
}

int FlowTest::drain(const Output& output, const std::string& slug) const {
    int done = 0;
    while (true) {
        const auto tasks = poll(100, slug);
        if (tasks.empty()) return done;
        for (const Task& task : tasks) {
            EXPECT_EQ(complete(task, output ? output(task) : "null"), TaskOutcome::done);
            ++done;
        }
    }
}

seam::Claim FlowTest::claim_work(
    int count, const std::string& slug, WorkerId worker, std::optional<Duration> lease
) const {
    seam::ClaimRequest request;
    request.queues = {store().queue(slug).info().id};
    request.max_messages = count;
    request.worker = worker;
    request.lease = lease;
    request.work = seam::Work::tasks;
    return detail::Access::backend(store())->claim(request);
}

std::vector<HeldTask> FlowTest::claim_tasks(int count, const std::string& slug, WorkerId worker)
    const {
    const seam::Claim got = claim_work(count, slug, worker);
    if (got.tasks.size() != got.messages.size())
        throw std::runtime_error("a claim of tasks gives one per message");
    std::vector<HeldTask> held;
    for (std::size_t i = 0; i < got.messages.size(); ++i)
        held.push_back({got.messages[i], got.tasks[i]});
    return held;
}

HeldTask FlowTest::claim_task(const std::string& slug, WorkerId worker) const {
    auto held = claim_tasks(1, slug, worker);
    if (held.size() != 1) throw std::runtime_error("expected a task of flow " + slug);
    return held.front();
}

std::string FlowTest::states(RunId run) const {
    std::string text;
    for (const StepInfo& step : store().run(run).steps()) {
        if (!text.empty()) text += ", ";
        text += step.id + " " + std::string(to_string(step.status));
    }
    return text;
}

std::string FlowTest::task_states(RunId run) const {
    std::string text;
    for (const TaskInfo& task : store().run(run).tasks()) {
        if (!text.empty()) text += ", ";
        text += task.task.step + "." + std::to_string(task.task.task_index) + " " +
                std::string(to_string(task.status));
    }
    return text;
}

TaskInfo FlowTest::task(RunId run, const std::string& step, int index) const {
    for (TaskInfo& task : store().run(run).tasks()) {
        if (task.task == TaskRef{run, step, index}) return std::move(task);
    }
    throw std::runtime_error("no task " + std::to_string(index) + " of step " + step);
}

std::string FlowTest::output_of(RunId run) const {
    return flat(info(run).output);
}

std::optional<Message> FlowTest::message(const MessageId& id) const {
    return store().queue("flow").find(id);
}

std::string FlowTest::event_data(RunId run, const std::string& kind) const {
    std::vector<std::string> found;
    for (const RunEvent& event : store().run(run).events()) {
        if (event.kind == kind) found.push_back(nlohmann::json::parse(event.data.text).dump());
    }
    if (found.size() != 1)
        throw std::runtime_error(std::to_string(found.size()) + " events of kind " + kind);
    return found.front();
}

std::string names(const std::vector<Task>& tasks) {
    std::string text;
    for (const Task& task : tasks) {
        if (!text.empty()) text += ", ";
        text += task.task.step;
        if (task.task.task_index != 0) text += "." + std::to_string(task.task.task_index);
    }
    return text;
}

std::string flat(const Json& json) {
    return nlohmann::ordered_json::parse(json.text).dump();
}

std::string flat(const std::optional<Json>& json) {
    return json ? flat(*json) : "none";
}

Write extend_write(const HeldTask& held, Duration lease) {
    return {held.lease(), seam::Extend{lease, held.ref()}};
}

Write release_write(const HeldTask& held, Duration delay) {
    return {held.lease(), seam::Release{delay, held.ref()}};
}

Write hand_back_write(const HeldTask& held) {
    return {held.lease(), seam::HandBack{held.ref()}};
}

Write complete_write(const HeldTask& held, const std::string& output) {
    return {held.lease(), seam::CompleteTask{held.ref(), output}};
}

Write fail_write(const HeldTask& held, const std::string& error) {
    return {held.lease(), seam::FailTask{held.ref(), error}};
}

Write delegate_write(const HeldTask& held, const NewRun& called) {
    return {held.lease(), seam::DelegateTask{held.ref(), called}};
}

}  // namespace pawl::test
