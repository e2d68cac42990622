// Hands out messages inside a write transaction: sql/postgres/functions/queue/claim.sql in C++.
#pragma once

#include <optional>
#include <vector>

#include "rowstore/claim/claim_scope.h"
#include "rowstore/commit/settler.h"

namespace pawl::rowstore {

class ClaimTransaction {
public:
    ClaimTransaction(WriteScope& scope, const seam::ClaimRequest& request, ClaimScope queues);
    // Call once.
    [[nodiscard]] seam::Claim claim();

private:
    // A hand-out that ended without a report.
    struct LostLease {
        int delivery = 0;
        WorkerId worker;
    };
    struct Candidate {
        MessageId id;
        int priority = 0;
        const ScopedQueue* queue = nullptr;
        bool progressed = false;  // since its last hand-out
        std::optional<LostLease> lost = {};
    };
    struct Hopeless {
        TaskKey task;
        LostLease lost;
        std::string why;
        AuditLevel audit = AuditLevel::off;
    };

    void collect_due();
    void collect_due_messages(const ScopedQueue& queue);
    void collect_due_tasks(const ScopedQueue& queue);
    // Why a task whose lease has ended is not handed out again.
    [[nodiscard]] static std::optional<std::string> no_hope(
        const LostLease& lost, const ScopedQueue& queue, int strikes, int attempts, int max_attempts
    );
    void add_due(const Candidate& candidate, int strikes);
    void end_hopeless();
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
    int read_all(Rows&& rows);
    void read(Rows& rows);
    void sort_by_priority();
    void start_runs();
    void start_tasks();
    void add_lost_lease(RunId run, const LostLease& lost, std::string_view data);
    [[nodiscard]] std::string task_data(const TaskKey& task);
    // None of a plain queue.
    [[nodiscard]] const ScopedQueue* find_workflow(QueueId queue) const;

    struct Poison {
        MessageId message;
        int strikes = 0;
        QueueId queue;
    };

    WriteScope& write_;
    Session& session_;
    const seam::ClaimRequest& request_;
    const ClaimScope scope_;
    const Timestamp now_;
    Settler settler_;
    int remaining_;
    std::vector<Candidate> due_;
    std::optional<Candidate> suspect_;
    std::vector<Poison> poison_;
    std::vector<Hopeless> hopeless_;
    seam::Claim claim_;
    std::vector<TaskKey> tasks_;  // with Work::tasks as many as messages
};

// When the first row of these queues becomes due, of those due after `after`.
[[nodiscard]] std::optional<Timestamp> find_next_due(
    Session& session, const std::vector<ScopedQueue>& queues, Timestamp after
);

}  // namespace pawl::rowstore
