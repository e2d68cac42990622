// A batch of writes as one pipeline: one transaction in one round trip.
#pragma once

#include <span>
#include <vector>

#include "postgres/driver/connection.h"
#include "postgres/driver/notifier.h"
#include "seam/batch.h"

namespace pawl::postgres {

// How those who wait are told, the runs that ended while somebody waits for them, and of flows the
// runs that ended and the queues that have got tasks.
struct Ends {
    Wake wake = Wake::after_commit;
    std::vector<RunId> awaited;
    std::vector<RunId> ended;
    std::vector<QueueId> queues;
};

// Fills the outcomes, aligned with the writes. Throws as Connection::run.
void settle(
    Connection& connection,
    std::span<const seam::Write> writes,
    seam::Attempt attempt,
    std::span<seam::WriteOutcome> outcomes,
    Ends& ends
);

}  // namespace pawl::postgres
