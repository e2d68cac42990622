// Calls the function of a flow's step for one task and returns the write about its outcome.
#pragma once

#include <optional>
#include <string>

#include "model/run_error.h"
#include "runtime/task/task_execution.h"

namespace pawl::runtime {

class TaskRunner {
public:
    TaskRunner(
        const std::string& worker, Committer& committer, seam::Engine& backend, Watchdog& watchdog
    )
        : worker_(worker), committer_(committer), backend_(backend), watchdog_(watchdog) {}

    // Nullopt if the lease was lost.
    [[nodiscard]] std::optional<seam::Write> run(TaskCall& call);

private:
    [[nodiscard]] std::optional<seam::Write> invoke(TaskCall& call, const TaskHandler& function);
    [[nodiscard]] seam::Write delegate(const TaskCall& call, const std::string& workflow);
    [[nodiscard]] seam::Write failed(const TaskCall& call, const model::Thrown& why);

    const std::string& worker_;
    Committer& committer_;
    seam::Engine& backend_;
    Watchdog& watchdog_;
};

}  // namespace pawl::runtime
