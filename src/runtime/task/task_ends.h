// What is reported of tasks, as writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/run_error.h"
#include "runtime/executing.h"

namespace pawl::runtime {

[[nodiscard]] seam::Write task_success_write(const Executing& executing, const Json& output);
// What the function threw: another attempt, the task's end, or, of a pause, the task given back.
[[nodiscard]] seam::Write task_failure_write(
    const Executing& executing, const model::Thrown& why, Duration pause_check_interval
);
[[nodiscard]] seam::Write task_timeout_write(
    const Executing& executing, std::string_view and_more = {}
);
// The database refused what was reported of the task, a result or the run to be made: it would do
// so the next time too. None: it was a failure already, or no task.
[[nodiscard]] std::optional<seam::Write> after_rejection(
    const Executing& executing, const seam::Write& rejected, std::string_view error
);
// The task's work is a run of this workflow.
[[nodiscard]] seam::Write delegation_write(const Executing& executing, const std::string& workflow);

}  // namespace pawl::runtime
