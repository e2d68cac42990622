// Bounded counts: up to where things are counted, and how a count that was cut off is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pawl/run.h>
#include <pawl/stats.h>
#include <pawl/workflow.h>

#include "model/rules.h"

namespace pawl::model {

// `rows` were found by a query that stops behind `limit`.
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

// What follows from the runs counted, which ended within `counted`: the window, or the newer part
// of it.
void derive_rates(WorkflowMetrics& metrics, Duration counted);

}  // namespace pawl::model
