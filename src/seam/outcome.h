// The outcome of each write of a commit.
#pragma once

#include <pawl/error.h>
#include <string>

#include "seam/write.h"

namespace pawl::seam {

enum class WriteStatus {
    done,
    lease_lost,
    cancelled,  // the lease is lost because the run was cancelled or deleted
    busy,       // another transaction has locked the row: retry in the next batch
    rejected,   // refused because of its content; see `error` and `code`
};

struct WriteOutcome {
    WriteStatus status = WriteStatus::done;
    std::string error;
    ErrorCode code = ErrorCode::database_error;  // of a rejected write
    bool dead_letter = false;                    // a Fail that used the last attempt
};

// Rejections with the same message in every store.
[[nodiscard]] WriteOutcome refused_workflow_message(const Write& write);
[[nodiscard]] WriteOutcome refused_other_queue(const Write& write);
[[nodiscard]] WriteOutcome refused_value(const Write& write);

// The result of rejecting an answer; see Engine::reject_resume().
enum class Rejection {
    done,
    used,  // the run has recorded a later step, or this is not an answer: it stays
    lease_lost,
};

// `repeated`: the answer to an earlier commit of the same batch was lost, so writes that this
// delivery has already made count as done.
enum class Attempt { first, repeated };

}  // namespace pawl::seam
