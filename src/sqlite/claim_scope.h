// Which queues a claim looks at.
#pragma once

#include <pawl/workflow.h>
#include <vector>

#include "sqlite/session.h"
#include "store/batch.h"

namespace pawl::sqlite {

struct ScopedQueue {
    QueueId id;
    Duration lease{};
    int max_strikes = 0;
    bool of_workflow = false;  // of a code-first one
    bool of_flow = false;
    AuditLevel audit = AuditLevel::off;
};

struct ClaimScope {
    std::vector<ScopedQueue> queues;  // not paused; starting after the request's `after`
    QueueId after;                    // for the next request
    bool more = false;                // queues were left out
};

// Only what carries the work asked for: flows' queues are claimed by themselves.
// A narrow set is taken as it is; of a wide one only queues that have rows, found by skipping
// through the indexes.
[[nodiscard]] ClaimScope find_claim_scope(
    Session& session, const store::ClaimRequest& request, Duration default_lease
);

}  // namespace pawl::sqlite
