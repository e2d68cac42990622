// The rules of flows in memory, as simple as possible: no counters, everything is computed again
// after each report. Random flows are compared with it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <pawl/flow.h>
#include <string>
#include <utility>
#include <vector>

namespace pawl::test {

class FlowModel {
public:
    using Value = nlohmann::ordered_json;

    struct Task {
        TaskStatus status = TaskStatus::queued;
        int attempts = 0;
        Value input;
        Value output;
    };
    struct Step {
        StepStatus status = StepStatus::pending;
        std::string skip_reason = {};
        Value output = {};  // of a SUCCESS
        std::vector<Task> tasks = {};
    };

    FlowModel(FlowShape shape, Value input);

    void begin(const std::string& step, int task);
    void complete(const std::string& step, int task, Value output);
    // An attempt has failed: retried if attempts are left.
    void fail(const std::string& step, int task);

    [[nodiscard]] const FlowShape& shape() const { return shape_; }
    [[nodiscard]] RunStatus status() const { return status_; }
    [[nodiscard]] const std::map<std::string, Step>& steps() const { return steps_; }
    [[nodiscard]] const Task& task(const std::string& step, int task) const;
    // The input of its worker.
    [[nodiscard]] Value input_of(const std::string& step, int task) const;
    [[nodiscard]] int max_attempts(const std::string& step) const;
    [[nodiscard]] int open_tasks() const;
    [[nodiscard]] int remaining_steps() const;
    [[nodiscard]] int remaining_deps(const FlowStep& step) const;
    // Of a SUCCESS.
    [[nodiscard]] Value output() const;
    // A step could not start, and the run failed because of it. What else started at the same time
    // is not specified: it depends on the order of evaluation.
    [[nodiscard]] bool failed_at_a_start() const { return failed_at_a_start_; }

private:
    [[nodiscard]] bool is_done(const std::string& step) const;
    [[nodiscard]] Value outputs_of_deps(const FlowStep& step) const;
    [[nodiscard]] bool starves_a_map(const std::string& slug, const Value& output) const;
    void start_what_can_start();
    void become_ready(const FlowStep& step);
    void start_map(const FlowStep& step);
    void skip(const std::string& step, const std::string& reason);
    void skip_dependents(const std::string& step);
    void fail_run(const std::string& step);

    FlowShape shape_;
    Value input_;
    RunStatus status_ = RunStatus::queued;
    std::map<std::string, Step> steps_;
    bool failed_at_a_start_ = false;
};

}  // namespace pawl::test
