#include "support/flow_model.h"

#include <algorithm>

#include "model/json_contains.h"

namespace pawl::test {

namespace {

bool matches(const FlowModel::Value& input, const FlowStepOptions& options) {
    const Json text(input.dump());
    if (options.required_input_pattern && !model::contains(text, *options.required_input_pattern))
        return false;
    return !options.forbidden_input_pattern ||
           !model::contains(text, *options.forbidden_input_pattern);
}

bool depends_on(const FlowStep& step, const std::string& other) {
    return std::ranges::find(step.deps, other) != step.deps.end();
}

bool is_open(TaskStatus status) {
    return status == TaskStatus::queued || status == TaskStatus::running;
}

}  // namespace

FlowModel::FlowModel(FlowShape shape, Value input)
    : shape_(std::move(shape)), input_(std::move(input)) {
    for (const FlowStep& step : shape_.steps) steps_[step.slug] = {};
    start_what_can_start();
}

void FlowModel::begin(const std::string& step, int task) {
    Task& begun = steps_.at(step).tasks.at(static_cast<std::size_t>(task));
    begun.status = TaskStatus::running;
    ++begun.attempts;
    if (status_ == RunStatus::queued) status_ = RunStatus::running;
}

void FlowModel::complete(const std::string& slug, int task, Value output) {
    Step& step = steps_.at(slug);
    Task& done = step.tasks.at(static_cast<std::size_t>(task));
    done.status = TaskStatus::success;
    done.output = std::move(output);
    const auto succeeded = [](const Task& one) { return one.status == TaskStatus::success; };
    if (!std::ranges::all_of(step.tasks, succeeded)) return;
    const auto declared = std::ranges::find(shape_.steps, slug, &FlowStep::slug);
    if (declared->type == StepType::single && starves_a_map(slug, done.output)) {
        done.status = TaskStatus::error;
        failed_at_a_start_ = true;
        return fail_run(slug);
    }
    step.status = StepStatus::success;
    if (declared->type == StepType::single) {
        step.output = done.output;
    } else {
        step.output = Value::array();
        for (const Task& one : step.tasks) step.output.push_back(one.output);
    }
    start_what_can_start();
}

bool FlowModel::starves_a_map(const std::string& slug, const Value& output) const {
    return !output.is_array() && std::ranges::any_of(shape_.steps, [&](const FlowStep& step) {
        return step.type == StepType::map && depends_on(step, slug) &&
               matches({{slug, output}}, step.options);
    });
}

void FlowModel::fail(const std::string& slug, int task) {
    Step& step = steps_.at(slug);
    Task& failed = step.tasks.at(static_cast<std::size_t>(task));
    if (failed.attempts < max_attempts(slug)) {
        failed.status = TaskStatus::queued;
        return;
    }
    failed.status = TaskStatus::error;
    const auto declared = std::ranges::find(shape_.steps, slug, &FlowStep::slug);
    const WhenExhausted what = declared->options.when_exhausted;
    if (what == WhenExhausted::fail) return fail_run(slug);
    skip(slug, "handler_failed");
    for (Task& other : step.tasks) {
        if (is_open(other.status)) other.status = TaskStatus::skipped;
    }
    if (what == WhenExhausted::skip_cascade) skip_dependents(slug);
    start_what_can_start();
}

const FlowModel::Task& FlowModel::task(const std::string& step, int task) const {
    return steps_.at(step).tasks.at(static_cast<std::size_t>(task));
}

FlowModel::Value FlowModel::input_of(const std::string& slug, int index) const {
    const auto declared = std::ranges::find(shape_.steps, slug, &FlowStep::slug);
    if (declared->type == StepType::map) return task(slug, index).input;
    Value input = {{"run", input_}};
    input.update(outputs_of_deps(*declared));
    return input;
}

int FlowModel::max_attempts(const std::string& slug) const {
    const auto declared = std::ranges::find(shape_.steps, slug, &FlowStep::slug);
    return declared->options.max_attempts.value_or(shape_.options.max_attempts.value());
}

int FlowModel::open_tasks() const {
    int open = 0;
    for (const auto& [slug, step] : steps_) {
        for (const Task& one : step.tasks) open += is_open(one.status) ? 1 : 0;
    }
    return open;
}

int FlowModel::remaining_steps() const {
    return static_cast<int>(std::ranges::count_if(steps_, [&](const auto& step) {
        return !is_done(step.first);
    }));
}

int FlowModel::remaining_deps(const FlowStep& step) const {
    return static_cast<int>(std::ranges::count_if(step.deps, [&](const std::string& dep) {
        return !is_done(dep);
    }));
}

FlowModel::Value FlowModel::output() const {
    Value output = Value::object();
    for (const FlowStep& leaf : shape_.steps) {
        const bool is_leaf = std::ranges::none_of(shape_.steps, [&](const FlowStep& other) {
            return depends_on(other, leaf.slug);
        });
        const Step& step = steps_.at(leaf.slug);
        if (is_leaf && step.status == StepStatus::success) output[leaf.slug] = step.output;
    }
    return output;
}

bool FlowModel::is_done(const std::string& step) const {
    const StepStatus status = steps_.at(step).status;
    return status == StepStatus::success || status == StepStatus::skipped;
}

// Of those that were not skipped.
FlowModel::Value FlowModel::outputs_of_deps(const FlowStep& step) const {
    Value outputs = Value::object();
    for (const FlowStep& dep : shape_.steps) {
        if (depends_on(step, dep.slug) && steps_.at(dep.slug).status == StepStatus::success)
            outputs[dep.slug] = steps_.at(dep.slug).output;
    }
    return outputs;
}

// Dependencies come before their dependents: one pass finds everything.
void FlowModel::start_what_can_start() {
    for (const FlowStep& step : shape_.steps) {
        if (status_ == RunStatus::error) return;
        if (steps_.at(step.slug).status == StepStatus::pending && remaining_deps(step) == 0)
            become_ready(step);
    }
    if (remaining_steps() == 0) status_ = RunStatus::success;
}

void FlowModel::become_ready(const FlowStep& step) {
    if (!matches(step.deps.empty() ? input_ : outputs_of_deps(step), step.options)) {
        if (step.options.when_unmet == WhenUnmet::fail) {
            failed_at_a_start_ = true;
            return fail_run(step.slug);
        }
        skip(step.slug, "condition_unmet");
        if (step.options.when_unmet == WhenUnmet::skip_cascade) skip_dependents(step.slug);
        return;
    }
    if (step.type == StepType::map) return start_map(step);
    steps_.at(step.slug).status = StepStatus::running;
    steps_.at(step.slug).tasks.resize(1);
}

void FlowModel::start_map(const FlowStep& step) {
    Step& made = steps_.at(step.slug);
    Value elements = input_;
    if (!step.deps.empty()) {
        const Step& dep = steps_.at(step.deps.front());
        elements = dep.status == StepStatus::skipped ? Value::array() : dep.output;
    }
    if (!elements.is_array()) {
        failed_at_a_start_ = true;
        return fail_run(step.slug);
    }
    for (Value& element : elements) made.tasks.push_back({.input = element, .output = {}});
    made.status = elements.empty() ? StepStatus::success : StepStatus::running;
    made.output = Value::array();
}

void FlowModel::skip(const std::string& step, const std::string& reason) {
    steps_.at(step).status = StepStatus::skipped;
    steps_.at(step).skip_reason = reason;
}

void FlowModel::skip_dependents(const std::string& step) {
    for (const FlowStep& other : shape_.steps) {
        if (!depends_on(other, step) || steps_.at(other.slug).status != StepStatus::pending)
            continue;
        skip(other.slug, "dependency_skipped");
        skip_dependents(other.slug);
    }
}

void FlowModel::fail_run(const std::string& failed) {
    status_ = RunStatus::error;
    for (auto& [slug, step] : steps_) {
        for (Task& one : step.tasks) {
            if (is_open(one.status)) one.status = TaskStatus::cancelled;
        }
        if (step.status == StepStatus::pending || step.status == StepStatus::running)
            step.status = StepStatus::cancelled;
    }
    steps_.at(failed).status = StepStatus::error;
}

}  // namespace pawl::test
