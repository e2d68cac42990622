// The implementation of pawl::Context. Its parts share one execution of the run.
#pragma once

#include "runtime/run/run_calls.h"
#include "runtime/run/run_deadlines.h"
#include "runtime/run/run_execution.h"
#include "runtime/run/run_steps.h"
#include "runtime/run/run_waits.h"

namespace pawl::runtime {

class RunContext {
public:
    RunContext(RunCall& call, Committer& committer, seam::Engine& backend)
        : execution(call, committer, backend) {}

    void heartbeat();
    // The token of the executing step, or of the run.
    [[nodiscard]] std::stop_token stop_token() const;
    [[nodiscard]] int attempt() const;

    RunExecution execution;
    RunWaits waits{execution};
    RunSteps steps{execution, waits};
    RunCalls calls{execution, steps};
    RunDeadlines deadlines{execution, steps};
};

}  // namespace pawl::runtime
