// Calls of other workflows and flows: the run waits, without a thread, for the end of another run.
#pragma once

#include "runtime/run/run_steps.h"

namespace pawl::runtime {

class RunCalls {
public:
    RunCalls(RunExecution& run, RunSteps& steps) : run_(run), steps_(steps) {}

    Json call(const std::string& name, const NewRun& run);

private:
    [[noreturn]] void wait_for(seam::StepWrite step, const NewRun& run);

    RunExecution& run_;
    RunSteps& steps_;
};

}  // namespace pawl::runtime
