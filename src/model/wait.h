// What a recorded step waits for, derived from its columns.
#pragma once

#include <optional>
#include <pawl/run.h>

namespace pawl::model {

// `called` is the run that the step has called and that has not ended, if there is one.
[[nodiscard]] inline std::optional<Wait> wait_of(const StepInfo& step, RunId called) {
    if (step.status != StepStatus::paused) return std::nullopt;
    if (called) return Wait{.kind = WaitKind::run, .run = called};
    if (step.wake_at) return Wait{.kind = WaitKind::time, .until = step.wake_at};
    return Wait{};
}

}  // namespace pawl::model
