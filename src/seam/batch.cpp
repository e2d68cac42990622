#include "seam/batch.h"

#include <fmt/format.h>

namespace pawl::seam {

namespace {
std::size_t bytes_of(const std::optional<std::string>& text) {
    return text ? text->size() : 0;
}
}  // namespace

std::size_t bytes_of(const Write& write) {
    std::size_t bytes =
        write.reason.size() + write.output.size() + write.error.size() + write.event_data.size();
    if (write.step)
        bytes += bytes_of(write.step->input) + bytes_of(write.step->output) +
                 bytes_of(write.step->error);
    if (write.call) bytes += write.call->input.text.size();
    if (write.publish) bytes += write.publish->event.payload.text.size();
    return bytes;
}

WriteOutcome refused_workflow_message(const Write& write) {
    return {
        WriteStatus::rejected,
        fmt::format(
            "message {} carries a run or a task of a workflow: its holder can extend or release "
            "it, and only a report or cancel() ends it",
            write.lease.message.value()
        ),
        ErrorCode::workflow_queue};
}

WriteOutcome refused_other_queue(const Write& write) {
    return {
        WriteStatus::rejected,
        fmt::format(
            "message {} is not in queue '{}': name the queue it was dequeued from",
            write.lease.message.value(),
            *write.queue
        ),
        ErrorCode::message_not_found};
}

WriteOutcome refused_value(const Write& write) {
    if (write.call)
        return {
            WriteStatus::rejected,
            fmt::format(
                "workflow '{}' does not exist, or its input or options are invalid",
                write.call->workflow
            ),
            ErrorCode::workflow_not_found};
    return {
        WriteStatus::rejected,
        fmt::format(
            "a value in the report about message {} can never be recorded",
            write.lease.message.value()
        ),
        ErrorCode::invalid_argument};
}

}  // namespace pawl::seam
