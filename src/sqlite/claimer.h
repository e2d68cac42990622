// Hands out messages inside a write transaction: sql/postgres/functions/05_claim.sql in C++.
#pragma once

#include <optional>
#include <vector>

#include "sqlite/claim_scope.h"
#include "sqlite/settler.h"

namespace pawl::sqlite {

class Claimer {
public:
    Claimer(Session& session, const store::ClaimRequest& request, ClaimScope scope, Timestamp now);
    // Call once.
    [[nodiscard]] store::Claim claim();
    // Of poison: queues that got dead letters, runs that failed.
    [[nodiscard]] const Wakeups& wakeups() const { return settler_.wakeups(); }

private:
    struct Candidate {
        MessageId id;
        int priority = 0;
        const ScopedQueue* queue = nullptr;
        bool progressed = false;  // since its last hand-out
    };

    void collect_due();
    void claim_rounds();
    void claim_usual();
    // The highest priority that any queue has ready, and the queues that have it.
    struct Level {
        int priority = 0;
        std::vector<const ScopedQueue*> queues;
    };
    [[nodiscard]] Level top_level();
    void claim_level(const Level& level);
    [[nodiscard]] std::vector<Candidate> merge_due(const Level& level);
    void take(const Candidate& candidate);
    void read(Rows& rows);
    void sort_by_priority();
    void start_runs();
    [[nodiscard]] bool is_workflow(QueueId queue) const;

    Session& session_;
    const store::ClaimRequest& request_;
    const ClaimScope scope_;
    const Timestamp now_;
    Settler settler_;
    int remaining_;
    std::vector<Candidate> due_;
    std::optional<Candidate> suspect_;
    store::Claim claim_;
};

// When the first row of these queues becomes due, of those due after `after`.
[[nodiscard]] std::optional<Timestamp> find_next_due(
    Session& session, const std::vector<ScopedQueue>& queues, Timestamp after
);

}  // namespace pawl::sqlite
