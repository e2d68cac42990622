// What a commit answers for each write.
#pragma once

#include <pawl/error.h>
#include <string>

#include "seam/write.h"

namespace pawl::seam {

enum class WriteStatus {
    done,
    lease_lost,
    cancelled,  // the lease is lost because the run was cancelled or deleted
    busy,       // another transaction has the row locked: put the write into the next batch
    rejected,   // refused for the content of this write; `error` and `code` say why
};

struct WriteOutcome {
    WriteStatus status = WriteStatus::done;
    std::string error;
    ErrorCode code = ErrorCode::database_error;  // of a rejected write
};

// The refusals with the same text in every store.
[[nodiscard]] WriteOutcome refused_workflow_message(const Write& write);
[[nodiscard]] WriteOutcome refused_other_queue(const Write& write);
[[nodiscard]] WriteOutcome refused_value(const Write& write);

// The result of rejecting an answer; see Engine::reject_resume().
enum class Rejection {
    done,
    used,  // the run has recorded something after it, or it is not an answer: it stays
    lease_lost,
};

// `repeated`: the answer to an earlier commit of the same batch was lost, so what this delivery has
// already written counts as done.
enum class Attempt { first, repeated };

}  // namespace pawl::seam
