#include "runtime/run/run_context.h"

#include "runtime/lease_table.h"

namespace pawl::runtime {

void RunContext::heartbeat() {
    execution.check_usable();
    RunCall& call = execution.call();
    const auto asked_at = RunExecution::Clock::now();
    const seam::Write extension{call.lease(), seam::Extend{call.claimed_lease()}};
    const seam::WriteOutcome outcome =
        execution.committer().commit_one(extension, Committer::Wait::block);
    call.leases().extended(std::span(&extension, 1), std::span(&outcome, 1), asked_at);
    if (execution.cancelled()) execution.unwind(RunExecution::End::lost);
}

std::stop_token RunContext::stop_token() const {
    const auto shared = execution.lock();
    if (shared->step && shared->step->stop) return shared->step->stop->get_token();
    return execution.call().stop.get_token();
}

int RunContext::attempt() const {
    const auto shared = execution.lock();
    if (shared->step) return shared->step->record->attempt;
    return execution.call().message.attempts + 1;
}

}  // namespace pawl::runtime
