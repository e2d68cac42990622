// Bounded counts of messages and workers; the rules stand in
// sql/postgres/functions/shared/counts.sql.
#pragma once

#include <pawl/stats.h>
#include <span>
#include <vector>

#include "rowstore/session.h"

namespace pawl::rowstore {

// Without the queue's name.
[[nodiscard]] QueueStats count_messages(
    Session& session, QueueId queue, Timestamp now, std::int64_t archived
);
// Of these queues, as far as they exist, or of all; by name.
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
