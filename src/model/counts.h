// Bounded counts: the limits, and the meaning of a count that reached its limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pawl/run.h>
#include <pawl/stats.h>
#include <pawl/workflow.h>

#include "model/rules.h"

namespace pawl::model {

// For a query that stops after `limit` + 1 rows.
[[nodiscard]] inline Count bounded(std::int64_t rows, std::int64_t limit = rules::count_limit) {
    return {std::min(rows, limit), rows <= limit};
}

[[nodiscard]] Count& count_of(RunCounts& counts, RunStatus status);

inline void add(StoreStats& totals, const QueueStats& queue) {
    ++totals.queues;
    totals.ready += queue.ready;
    totals.waiting += queue.waiting;
    totals.leased += queue.leased;
    totals.archived += queue.archived;
    totals.dead += queue.dead;
}

// Computes the rates from the counted runs, which ended within `counted`: the window, or its newer
// part.
void derive_rates(WorkflowMetrics& metrics, Duration counted);

}  // namespace pawl::model
