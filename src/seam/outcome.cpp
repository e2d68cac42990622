#include "seam/outcome.h"

#include <fmt/format.h>

namespace pawl::seam {

WriteOutcome refused_workflow_message(const Write& write) {
    return {
        WriteStatus::rejected,
        fmt::format(
            "message {} belongs to a run or a task: its holder can only extend or release it; "
            "to end the run, use cancel()",
            write.lease.message.value()
        ),
        ErrorCode::workflow_queue};
}

WriteOutcome refused_other_queue(const Write& write) {
    return {
        WriteStatus::rejected,
        fmt::format(
            "message {} is not in queue '{}': use the queue that it was dequeued from",
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
            "a value in the report about message {} cannot be stored", write.lease.message.value()
        ),
        ErrorCode::invalid_argument};
}

}  // namespace pawl::seam
