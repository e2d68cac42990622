// The steps of a run: replays recorded ones, executes the bodies of others, and decides whether
// a failed one is retried.
#pragma once

#include <unordered_map>

#include "model/run_error.h"
#include "runtime/run/run_execution.h"
#include "runtime/run/run_waits.h"

namespace pawl::runtime {

class RunSteps {
public:
    RunSteps(RunExecution& run, RunWaits& waits) : run_(run), waits_(waits) {}

    Json step(const std::string& name, const StepOptions& options, Context::Body body);

    // --- steps without a body: StepGuard ---
    // Returns the id, and the result if it is recorded.
    std::pair<std::string, std::optional<Json>> acquire(const std::string& name);
    void succeed(const std::string& id, const Json& output);
    [[noreturn]] void fail(const std::string& id, const std::string& message);

    // --- failures ---
    using Record = RunExecution::Record;
    [[noreturn]] void fail_step(
        Record record, const StepOptions& options, const model::Thrown& why
    );
    // A suspension, or a checkpoint with the step's end. Also used by the watchdog.
    [[nodiscard]] seam::Write step_failure(
        Record record, const StepOptions& options, const model::Thrown& why
    ) const;

private:
    using Clock = RunExecution::Clock;
    struct Acquired {
        seam::StepWrite record;
        Clock::time_point started_at;
    };

    Json execute(const std::string& id, const StepOptions& options, Context::Body body);
    // Returns the stop source of the step if it has a timeout.
    [[nodiscard]] std::optional<std::stop_source> begin(
        const std::string& id, const StepOptions& options
    );
    [[nodiscard]] RunExecution::RunningStep finish_body();
    // Records an executed step and returns the write. The step is counted when it is recorded.
    seam::Write record_executed(Record step);
    [[nodiscard]] seam::StepWrite take_acquired(const std::string& id);

    RunExecution& run_;
    RunWaits& waits_;
    std::unordered_map<std::string, Acquired> acquired_;
};

// The failure of a step that exceeded its timeout.
[[nodiscard]] model::Thrown step_timeout(Duration timeout, std::string_view and_more);

}  // namespace pawl::runtime
