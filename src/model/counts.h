// Bounded counts: up to where things are counted, and how a count that was cut off is read.
#pragma once

#include <algorithm>
#include <cstdint>
#include <pawl/run.h>
#include <pawl/stats.h>
#include <pawl/workflow.h>

namespace pawl::model {

// sql/postgres/functions/shared/counts.sql has the same one.
inline constexpr std::int64_t count_limit = 10'000;
// Of the archive of each queue, if all queues are counted: a store with hundreds of them answers at
// once.
inline constexpr std::int64_t archive_list_limit = 1'000;

// `rows` were found by a query that stops behind `limit`.
[[nodiscard]] inline Count bounded(std::int64_t rows, std::int64_t limit = count_limit) {
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
