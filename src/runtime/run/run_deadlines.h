// The watchdog's work for an executing run: marks a long step as RUNNING, and reports a step or run
// that exceeds its timeout and does not return.
#pragma once

#include "runtime/run/run_steps.h"
#include "runtime/services/watchdog.h"

namespace pawl::runtime {

class RunDeadlines final : public Watched {
public:
    RunDeadlines(RunExecution& run, const RunSteps& steps) : run_(run), steps_(steps) {}

    std::optional<std::stop_source> check_deadlines(RunExecution::Clock::time_point now) override;
    [[nodiscard]] std::string describe() const override;

private:
    enum class Reported { mark, end };
    // Does not wait for the commit.
    void report(Reported what, seam::Write write, Committer::Callback then = {});
    [[nodiscard]] std::optional<std::stop_source> check_step(
        RunExecution::Shared& shared, RunExecution::Clock::time_point now
    );

    RunExecution& run_;
    const RunSteps& steps_;
};

}  // namespace pawl::runtime
