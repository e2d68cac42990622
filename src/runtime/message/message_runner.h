// Calls a queue's handler and returns the writes about its messages.
#pragma once

#include <exception>

#include "runtime/message/message_call.h"

namespace pawl::runtime {

class MessageRunner {
public:
    explicit MessageRunner(const WorkerOptions& options) : options_(options) {}

    [[nodiscard]] std::vector<seam::Write> run(MessageCall& call) const;

private:
    [[nodiscard]] std::vector<seam::Write> failed(
        const MessageCall& call, const std::exception_ptr& thrown
    ) const;
    [[nodiscard]] Duration backoff(const Message& message) const;

    const WorkerOptions& options_;
};

}  // namespace pawl::runtime
