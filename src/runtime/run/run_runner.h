// Calls a workflow's function for one run and returns the write about its outcome.
#pragma once

#include <optional>

#include "runtime/run/run_call.h"
#include "runtime/run/run_context.h"
#include "runtime/services/watchdog.h"

namespace pawl::runtime {

class RunRunner {
public:
    RunRunner(Committer& committer, seam::Engine& backend, Watchdog& watchdog)
        : committer_(committer), backend_(backend), watchdog_(watchdog) {}

    // Nullopt if the lease was lost.
    [[nodiscard]] std::optional<seam::Write> run(RunCall& call);

private:
    [[nodiscard]] bool load_steps(RunCall& call);
    [[nodiscard]] std::optional<seam::Write> invoke(RunCall& call, RunContext& context);
    [[nodiscard]] std::optional<seam::Write> ended_early(
        RunCall& call, RunContext& context, bool swallowed
    );
    [[nodiscard]] seam::Write thrown_outside(
        const RunCall& call, const RunExecution& execution, const std::exception_ptr& thrown
    );

    Committer& committer_;
    seam::Engine& backend_;
    Watchdog& watchdog_;
};

}  // namespace pawl::runtime
