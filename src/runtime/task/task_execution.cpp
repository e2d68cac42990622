#include "runtime/task/task_execution.h"

#include "model/flow.h"
#include "model/rules.h"
#include "runtime/lease_table.h"
#include "runtime/metrics/metered_report.h"
#include "runtime/task/task_ends.h"
#include "runtime/work_log.h"

namespace pawl::runtime {

using seam::Write;

namespace {
// The report must be stored before the lease ends, so that the next holder sees it.
constexpr Duration report_ahead = 300ms;
}  // namespace

TaskExecution::TaskExecution(TaskCall& call, Committer& committer, seam::Engine& backend)
    : call_(call), committer_(committer), backend_(backend) {
    if (const auto& timeout = call.task.timeout) over_at_ = Clock::now() + *timeout;
}

bool TaskExecution::cancelled() const {
    if (call_.is_over()) return true;
    const std::lock_guard lock(mutex_);
    return ended_;
}

TaskExecution::End TaskExecution::finish() {
    const std::lock_guard lock(mutex_);
    if (ended_ || call_.is_over()) return End::lost;
    ended_ = true;
    return over_at_ && (timed_out_ || *over_at_ <= Clock::now()) ? End::late : End::in_time;
}

bool TaskExecution::report_is_due(Clock::time_point now) const {
    return *over_at_ + model::rules::task_grace <= now ||
           call_.lease_ends_at.load() - report_ahead <= now;
}

std::optional<std::stop_source> TaskExecution::check_deadlines(Clock::time_point now) {
    const std::lock_guard lock(mutex_);
    if (ended_ || !over_at_ || now < *over_at_) return std::nullopt;
    timed_out_ = true;
    if (report_is_due(now) && !call_.lost) {
        report_timeout();
        ended_ = true;
    }
    return call_.stop;
}

// This report fences off everything that the function still does.
void TaskExecution::report_timeout() {
    std::vector<Write> writes;
    writes.push_back(task_timeout_write(call_, " and did not return"));
    call_.reported = true;
    call_.log().task_failed(call_, writes.front().as<seam::FailTask>());
    committer_.submit_unbounded(
        std::move(writes),
        [leases = &call_.leases(), metered = MeteredReport(call_)](
            std::span<const Write> written, std::span<const seam::WriteOutcome> outcomes
        ) {
            leases->forget(written);
            metered.committed(written, outcomes);
        }
    );
}

}  // namespace pawl::runtime
