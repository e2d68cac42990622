#include "runtime/run/step_log.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/check_run.h"

namespace pawl::runtime {

StepLog::StepLog(std::vector<seam::ReplayStep> recorded) {
    for (seam::ReplayStep& step : recorded) {
        last_position_ = std::max(last_position_, step.position);
        if (has_result(step.status)) ++results_left_;
        std::string id = step.id;
        recorded_.emplace(std::move(id), std::move(step));
    }
}

namespace {

std::string unique_id(const std::string& name, int use) {
    return use == 1 ? name : fmt::format("{}#{}", name, use);
}

}  // namespace

std::string StepLog::next_id(const std::string& name) {
    model::check_step_id(name);
    std::string id = unique_id(name, ++uses_[name]);
    if (const auto* step = find(id); step != nullptr && has_result(step->status)) --results_left_;
    return id;
}

std::string StepLog::last_id(const std::string& name) const {
    const auto at = uses_.find(name);
    return at == uses_.end() ? name : unique_id(name, at->second);
}

const seam::ReplayStep* StepLog::find(const std::string& id) const {
    const auto at = recorded_.find(id);
    return at == recorded_.end() ? nullptr : &at->second;
}

int StepLog::position(const std::string& id) {
    const auto* step = find(id);
    return step != nullptr ? step->position : ++last_position_;
}

int failures(const seam::ReplayStep& step) {
    // A RUNNING row has the number of the attempt in progress, which never ended.
    return step.status == StepStatus::running ? step.attempt - 1 : step.attempt;
}

}  // namespace pawl::runtime
