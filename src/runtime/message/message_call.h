// A call of a queue's handler with one message or a batch.
#pragma once

#include "runtime/call.h"

namespace pawl::runtime {

class MessageRunner;

class MessageCall final : public Call {
public:
    MessageCall(const Origin& origin, MessageRunner& runner) : Call(origin), runner_(runner) {}

    [[nodiscard]] std::span<const Message> messages() const override { return batch; }
    [[nodiscard]] std::string subject() const override;
    [[nodiscard]] std::optional<std::vector<seam::Write>> execute() override;

    // Sets the handler's decision about one message of its batch; the others are archived. Throws
    // invalid_argument for a message that is not in the batch.
    void decide(const Message& message, seam::WriteAction action);

    std::vector<Message> batch;
    std::vector<std::optional<seam::WriteAction>> decisions;  // one per message

private:
    MessageRunner& runner_;
};

}  // namespace pawl::runtime
