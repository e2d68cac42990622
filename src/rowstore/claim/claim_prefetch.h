// Announces the queries of a claim that do not depend on its queues and the time, so that the first
// request carries all of them. No-op if round trips are free.
#pragma once

#include <optional>

#include "rowstore/claim/claim_scope.h"

namespace pawl::rowstore {

// For the search for work that takes no lock.
void prefetch_idle_check(Session& session, const seam::ClaimRequest& request);
// For the transaction that claims the work.
void prefetch_claim(Session& session, const seam::ClaimRequest& request);
// Whether these two request the first waiting or leased row of each queue. They do not know the
// queues of a wide set, nor the lanes.
[[nodiscard]] bool reads_due_ahead(const seam::ClaimRequest& request);
// Whether prefetch_claim() requests the top priority of each queue.
[[nodiscard]] bool reads_top_ahead(const seam::ClaimRequest& request);

// The time of the first row of a queue that becomes due after `after`.
[[nodiscard]] std::optional<Timestamp> next_due_of(
    Session& session, const ScopedQueue& queue, Timestamp after
);
void prefetch_next_due(Session& session, const std::vector<ScopedQueue>& queues, Timestamp after);
void prefetch_top_priority(Session& session, const std::vector<ScopedQueue>& queues);
// The earliest of these times over all queues.
[[nodiscard]] std::optional<Timestamp> find_next_due(
    Session& session, const std::vector<ScopedQueue>& queues, Timestamp after
);

}  // namespace pawl::rowstore
