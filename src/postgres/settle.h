// A batch of writes as one pipeline: one transaction in one round trip.
#pragma once

#include <span>
#include <vector>

#include "postgres/connection.h"
#include "store/batch.h"

namespace pawl::postgres {

// Fills the outcomes, aligned with the writes, and adds the runs that ended while somebody waits
// for them. Throws as Connection::run.
void settle(
    Connection& connection,
    std::span<const store::Write> writes,
    store::Attempt attempt,
    std::span<store::WriteOutcome> outcomes,
    std::vector<RunId>& awaited
);

}  // namespace pawl::postgres
