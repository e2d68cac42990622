// Pauses and sleeps: waits of a run that do not hold a thread.
#pragma once

#include "runtime/run/run_execution.h"

namespace pawl::runtime {

class RunWaits {
public:
    explicit RunWaits(RunExecution& run) : run_(run) {}

    Json pause(
        const std::string& name, const std::string& message, std::optional<Duration> check_after
    );
    // For a step whose body asked for it.
    [[noreturn]] void pause_at(
        seam::StepWrite step,
        const std::string& message,
        const std::string& condition,
        std::optional<Duration> check_after
    );
    // Called if the step's result does not decode. An answer to a pause is rejected, and the run
    // pauses again, if nothing was recorded after it. Otherwise throws an error that names the
    // step.
    [[noreturn]] void reject_answer(
        const std::string& name,
        const std::string& question,
        std::optional<Duration> check_after,
        const std::exception_ptr& thrown
    );
    void sleep(Duration time);
    void sleep_until(Timestamp time);

private:
    void sleep_as(Duration delay, std::optional<Timestamp> until);

    RunExecution& run_;
};

[[noreturn]] void throw_undecodable(const std::string& id, const std::exception_ptr& thrown);

}  // namespace pawl::runtime
