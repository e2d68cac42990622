// A call of a workflow's function for one run.
#pragma once

#include <memory>

#include "runtime/call.h"

namespace pawl::runtime {

class RunRunner;

class RunCall final : public Call {
public:
    RunCall(
        const Origin& origin,
        RunRunner& runner,
        Message claimed_message,
        seam::ClaimedRun claimed,
        std::shared_ptr<const WorkflowInfo> its_workflow
    )
        : Call(origin),
          message(std::move(claimed_message)),
          run(std::move(claimed)),
          workflow(std::move(its_workflow)),
          runner_(runner) {}

    [[nodiscard]] std::span<const Message> messages() const override { return {&message, 1}; }
    [[nodiscard]] std::string subject() const override;
    [[nodiscard]] std::optional<std::vector<seam::Write>> execute() override;
    [[nodiscard]] bool has_steps() const override { return true; }
    // Measured from the run's first start, by the database's clock up to the claim and by the local
    // clock after it.
    [[nodiscard]] std::chrono::microseconds time_taken() const override;

    [[nodiscard]] RunId id() const { return RunId(message.id.value()); }
    [[nodiscard]] Lease lease() const { return message.lease(); }

    const Message message;
    seam::ClaimedRun run;
    const std::shared_ptr<const WorkflowInfo> workflow;

private:
    RunRunner& runner_;
};

}  // namespace pawl::runtime
