// The steps that a run knows while it executes: the recorded ones, and the ids used so far.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "seam/claim.h"

namespace pawl::runtime {

class StepLog {
public:
    explicit StepLog(std::vector<seam::ReplayStep> recorded);

    // The name itself, or "name#2" for its second use in this execution, and so on. Throws
    // invalid_argument for a name that is not a valid step id.
    [[nodiscard]] std::string next_id(const std::string& name);
    // The last id that next_id() returned for this name.
    [[nodiscard]] std::string last_id(const std::string& name) const;
    [[nodiscard]] const seam::ReplayStep* find(const std::string& id) const;
    // The position of the step in the run: the recorded one, or the next.
    [[nodiscard]] int position(const std::string& id);
    // True while there are recorded results that this execution has not reached.
    [[nodiscard]] bool replaying() const { return results_left_ > 0; }

private:
    std::unordered_map<std::string, seam::ReplayStep> recorded_;
    std::unordered_map<std::string, int> uses_;
    int last_position_ = 0;
    int results_left_ = 0;
};

// The step's result is final.
[[nodiscard]] constexpr bool has_result(StepStatus status) {
    return status == StepStatus::success || status == StepStatus::error ||
           status == StepStatus::skipped;
}
// The number of failed executions so far.
[[nodiscard]] int failures(const seam::ReplayStep& step);

}  // namespace pawl::runtime
