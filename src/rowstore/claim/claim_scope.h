// Which queues a claim looks at.
#pragma once

#include <optional>
#include <pawl/workflow.h>
#include <vector>

#include "rowstore/session.h"
#include "seam/claim.h"

namespace pawl::rowstore {

struct ScopedQueue {
    QueueId id;
    Duration lease{};
    int max_strikes = 0;
    bool of_workflow = false;  // of a code-first one
    bool of_flow = false;
    AuditLevel audit = AuditLevel::off;
    std::optional<int> lane = {};  // only the tasks of this step
};

struct ClaimScope {
    std::vector<ScopedQueue> queues;  // not paused; starting after the request's `after`
    QueueId after;                    // for the next request
    bool more = false;                // queues were left out
    bool needs_lanes = false;         // steps are asked for, and their flow has no lanes yet
};

// With `steps` there is one entry for each of them.
// Only what carries the work asked for: flows' queues are claimed by themselves.
// A narrow set is taken as it is; of a wide one only queues that have rows, found by skipping
// through the indexes.
[[nodiscard]] ClaimScope find_claim_scope(
    Session& session, const seam::ClaimRequest& request, Duration default_lease
);

// Lets tasks of these flows be claimed by their steps from now on; those that wait already, too.
void open_lanes(Session& session, const std::vector<QueueId>& flows);

}  // namespace pawl::rowstore
