// The implementation of pawl::TaskContext: one execution of a task's function, with its timeout.
#pragma once

#include <mutex>
#include <optional>
#include <pawl/flow.h>

#include "runtime/committer.h"
#include "runtime/services/watchdog.h"
#include "runtime/task/task_call.h"

namespace pawl::runtime {

class TaskExecution final : public Watched {
public:
    using Clock = std::chrono::steady_clock;

    TaskExecution(TaskCall& call, Committer& committer, seam::Engine& backend);

    // --- for pawl::TaskContext ---
    [[nodiscard]] const TaskCall& task_call() const { return call_; }
    [[nodiscard]] const seam::ClaimedTask& claimed() const { return call_.task; }
    [[nodiscard]] seam::Engine& backend() const { return backend_; }
    [[nodiscard]] bool cancelled() const;

    // --- for the runner ---
    // The function has returned or thrown. Decides which result counts.
    enum class End {
        in_time,  // the function's result
        late,     // the timeout
        lost,     // none: the lease is lost, or the outcome was reported already
    };
    [[nodiscard]] End finish();

    // --- for the watchdog: requests the function to stop at its timeout, and reports the
    // timeout if it does not return ---
    std::optional<std::stop_source> check_deadlines(Clock::time_point now) override;

private:
    [[nodiscard]] bool report_is_due(Clock::time_point now) const;
    void report_timeout();

    TaskCall& call_;
    Committer& committer_;
    seam::Engine& backend_;
    std::optional<Clock::time_point> over_at_;

    mutable std::mutex mutex_;
    bool ended_ = false;  // reported, or about to be
    bool timed_out_ = false;
};

}  // namespace pawl::runtime
