// A batch of writes as one pipeline: one transaction in one round trip.
#pragma once

#include <span>
#include <vector>

#include "postgres/connection.h"
#include "postgres/notifier.h"
#include "store/batch.h"

namespace pawl::postgres {

// How those who wait for runs are told, and the runs that ended while somebody waits for them.
struct Ends {
    Wake wake = Wake::after_commit;
    std::vector<RunId> awaited;
};

// Fills the outcomes, aligned with the writes. Throws as Connection::run.
void settle(
    Connection& connection,
    std::span<const store::Write> writes,
    store::Attempt attempt,
    std::span<store::WriteOutcome> outcomes,
    Ends& ends
);

}  // namespace pawl::postgres
