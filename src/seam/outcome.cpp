#include "seam/outcome.h"

#include <fmt/format.h>

namespace pawl::seam {

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
    if (const NewRun* const call = called_run(write))
        return {
            WriteStatus::rejected,
            fmt::format(
                "workflow '{}' does not exist, or its input or options are invalid", call->workflow
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
