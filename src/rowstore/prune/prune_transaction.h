// A batch of pruning inside a transaction: sql/postgres/functions/retention/prune.sql in C++.
#pragma once

#include "rowstore/session.h"
#include "seam/backend.h"

namespace pawl::rowstore {

// The newest row that a policy by count removes; none if there are fewer rows.
[[nodiscard]] std::optional<seam::PrunePosition> find_bound(
    Session& session, RetentionKind kind, QueueId queue, std::int64_t keep_count
);

class PruneTransaction {
public:
    PruneTransaction(Session& session, Timestamp now, const seam::PruneBatch& batch)
        : session_(session), now_(now), batch_(batch) {}
    [[nodiscard]] seam::PrunedBatch prune();

private:
    struct Policy {
        std::int64_t id = 0;
        seam::PrunePosition until;
        std::optional<Timestamp> done_at;
    };
    [[nodiscard]] std::optional<Policy> find_policy();
    [[nodiscard]] std::vector<seam::PrunePosition> candidates(
        RetentionKind kind, const seam::PrunePosition& after, const seam::PrunePosition& until
    );
    // Returns how many rows were removed or, in a dry run, counted.
    [[nodiscard]] std::int64_t take(std::int64_t id);
    [[nodiscard]] std::int64_t take_run(RunId run);
    [[nodiscard]] std::int64_t take_events(RunId run);
    void remember(const Policy& policy, const seam::PrunedBatch& pruned);

    Session& session_;
    const Timestamp now_;
    const seam::PruneBatch& batch_;
};

}  // namespace pawl::rowstore
