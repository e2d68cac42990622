// The writes that report the outcome of tasks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/run_error.h"
#include "runtime/task/task_call.h"

namespace pawl::runtime {

[[nodiscard]] seam::Write task_success_write(const TaskCall& call, Json output);
// Another attempt, or the end of the task.
[[nodiscard]] seam::Write task_failure_write(const TaskCall& call, const model::Thrown& why);
// The function asked to be called again later, which does not use an attempt.
[[nodiscard]] seam::Write task_pause_write(const TaskCall& call, Duration check_after);
[[nodiscard]] seam::Write task_timeout_write(const TaskCall& call, std::string_view and_more = {});
// A run of this workflow does the task's work.
[[nodiscard]] seam::Write delegation_write(const TaskCall& call, const std::string& workflow);

}  // namespace pawl::runtime
