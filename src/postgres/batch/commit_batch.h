// A batch of writes as one pipeline: one transaction in one round trip.
#pragma once

#include <span>
#include <vector>

#include "postgres/driver/connection.h"
#include "postgres/driver/notifier.h"
#include "seam/outcome.h"

namespace pawl::postgres {

// The notifications that a commit causes.
struct CommitSideEffects {
    Wake wake = Wake::after_commit;
    std::vector<RunId> awaited;   // runs that ended and have waiters
    std::vector<RunId> ended;     // runs of flows that ended
    std::vector<QueueId> queues;  // queues that have new tasks or runs
};

// Fills the outcomes, aligned with the writes. Throws like Connection::run.
void commit_batch(
    Connection& connection,
    seam::Writes writes,
    seam::Attempt attempt,
    std::span<seam::WriteOutcome> outcomes,
    CommitSideEffects& effects
);

}  // namespace pawl::postgres
