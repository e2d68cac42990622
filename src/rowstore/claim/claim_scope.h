// The queues that a claim searches.
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
    bool of_workflow = false;  // code-first workflow
    bool of_flow = false;
    AuditLevel audit = AuditLevel::off;
    std::optional<int> lane = {};  // only the tasks of this step
};

struct ClaimScope {
    std::vector<ScopedQueue> queues;  // without paused ones; starting after the request's `after`
    QueueId after;                    // for the next request
    bool more = false;                // queues were left out
    bool needs_lanes = false;         // the request names steps, and their flow has no lanes yet
};

// With `steps` there is one entry per step. Contains only queues that carry the requested kind of
// work. A narrow set is taken as it is; of a wide set only queues with rows are taken, found by a
// skip scan through the indexes.
[[nodiscard]] ClaimScope find_claim_scope(
    Session& session, const seam::ClaimRequest& request, Duration default_lease
);

// The queues of a request, sorted and without duplicates; empty for a wide set.
[[nodiscard]] std::vector<QueueId> narrow_set(const seam::ClaimRequest& request);

// Makes the tasks of these flows claimable by step, including existing tasks.
void open_lanes(Session& session, const std::vector<QueueId>& flows);

}  // namespace pawl::rowstore
