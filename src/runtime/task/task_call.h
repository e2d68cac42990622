// A call of the function of a flow's step for one task.
#pragma once

#include "runtime/call.h"

namespace pawl::runtime {

class TaskRunner;

class TaskCall final : public Call {
public:
    TaskCall(
        const Origin& origin, TaskRunner& runner, Message claimed_message, seam::ClaimedTask claimed
    )
        : Call(origin),
          message(std::move(claimed_message)),
          task(std::move(claimed)),
          runner_(runner) {}

    [[nodiscard]] std::span<const Message> messages() const override { return {&message, 1}; }
    [[nodiscard]] std::string subject() const override;
    [[nodiscard]] std::optional<std::vector<seam::Write>> execute() override;
    [[nodiscard]] std::optional<seam::Write> after_rejection(
        const seam::Write& rejected, std::string_view error
    ) const override;
    [[nodiscard]] const seam::ClaimedTask* claimed_task() const override { return &task; }

    [[nodiscard]] Lease lease() const { return message.lease(); }

    const Message message;
    const seam::ClaimedTask task;

private:
    TaskRunner& runner_;
};

}  // namespace pawl::runtime
