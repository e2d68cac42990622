#include "model/counts.h"

namespace pawl::model {

Count& count_of(RunCounts& counts, RunStatus status) {
    switch (status) {
        case RunStatus::queued:
            return counts.queued;
        case RunStatus::running:
            return counts.running;
        case RunStatus::paused:
            return counts.paused;
        case RunStatus::success:
            return counts.success;
        case RunStatus::error:
            return counts.error;
        case RunStatus::cancelled:
            break;
    }
    return counts.cancelled;
}

void derive_rates(WorkflowMetrics& metrics, Duration counted) {
    const auto decided = static_cast<double>(metrics.succeeded + metrics.failed);
    if (decided > 0) {
        metrics.success_rate = static_cast<double>(metrics.succeeded) / decided;
        metrics.failure_rate = static_cast<double>(metrics.failed) / decided;
    }
    const double seconds = std::chrono::duration<double>(counted).count();
    if (seconds > 0)
        metrics.runs_per_second = (decided + static_cast<double>(metrics.cancelled)) / seconds;
}

}  // namespace pawl::model
