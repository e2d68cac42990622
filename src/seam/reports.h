// Queries for operators and monitoring. Each call reads a bounded number of rows.
#pragma once

#include <optional>
#include <pawl/store.h>
#include <span>
#include <string>
#include <vector>

namespace pawl::seam {

// The backlog, for monitoring. Cheap enough to query every few seconds.
struct Backlog {
    std::vector<QueueStats> queues;      // existing ones, by name
    std::optional<Duration> outbox_lag;  // nullopt if no event is due
    std::int64_t workers_live = 0;
    std::int64_t workers_lost = 0;
};

class Reports {
public:
    virtual ~Reports() = default;
    virtual StoreStats stats() = 0;
    // One queue (empty if it does not exist) or all. Counts the archive up to `archived`.
    virtual std::vector<QueueStats> queue_stats(
        const std::optional<std::string>& only, std::int64_t archived
    ) = 0;
    // Throws workflow_not_found.
    virtual WorkflowMetrics workflow_metrics(const std::string& name, Duration window) = 0;
    virtual std::vector<RunInfo> list_runs(const RunFilter& filter, const RunPage& page) = 0;
    virtual RunCounts count_runs(const RunFilter& filter, std::int64_t limit) = 0;
    // The backlog of these queues and of the whole store, in one round trip.
    virtual Backlog backlog(std::span<const std::string> queues) = 0;
};

}  // namespace pawl::seam
