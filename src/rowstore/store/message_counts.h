// Bounded counts of messages and workers. sql/postgres/functions/shared/counts.sql describes the
// rules.
#pragma once

#include <pawl/stats.h>
#include <span>
#include <vector>

#include "rowstore/session.h"

namespace pawl::rowstore {

// Does not set the name of the queue.
[[nodiscard]] QueueStats count_messages(
    Session& session, QueueId queue, Timestamp now, std::int64_t archived
);
// The stats of these queues, if they exist, or of all queues; by name.
[[nodiscard]] std::vector<QueueStats> read_queue_stats(
    Session& session,
    std::optional<std::span<const std::string>> only,
    Timestamp now,
    std::int64_t archived
);

struct WorkerCounts {
    std::int64_t live = 0;
    std::int64_t lost = 0;
};
[[nodiscard]] WorkerCounts count_workers(Session& session, Timestamp now);

}  // namespace pawl::rowstore
