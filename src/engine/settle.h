// Settles messages for a caller that holds their leases without a worker.
#pragma once

#include <span>
#include <vector>

#include "seam/engine.h"

namespace pawl::engine {

// Commits the writes, waits while rows are locked by other transactions, and repeats safely if the
// outcome of a commit is unknown. No outcome is `busy`.
[[nodiscard]] std::vector<seam::WriteOutcome> settle(
    seam::Engine& backend, std::span<const seam::Write> writes
);

}  // namespace pawl::engine
