// Delivers messages inside a write transaction: sql/postgres/functions/queue/claim.sql in C++.
#pragma once

#include <optional>
#include <vector>

#include "rowstore/claim/claim_scope.h"
#include "rowstore/claim/start_runs.h"
#include "rowstore/commit/settler.h"

namespace pawl::rowstore {

class ClaimTransaction {
public:
    ClaimTransaction(WriteScope& scope, const seam::ClaimRequest& request, ClaimScope queues);
    // Call it once.
    [[nodiscard]] seam::Claim claim();

private:
    // A delivery that ended without a report.
    struct LostLease {
        int delivery = 0;
        WorkerId worker;
    };
    struct Candidate {
        MessageId id;
        int priority = 0;
        const ScopedQueue* queue = nullptr;
        bool progressed = false;  // since its last delivery
        std::optional<LostLease> lost = {};
    };
    struct ExhaustedTask {
        TaskKey task;
        LostLease lost;
        std::string why;
        AuditLevel audit = AuditLevel::off;
    };

    void collect_due();
    void collect_due(const ScopedQueue& queue);
    // If round trips are costly, the due rows of a queue are read only if it has some.
    [[nodiscard]] std::vector<const ScopedQueue*> find_queues_with_due();
    void collect_due_messages(const ScopedQueue& queue);
    void collect_due_tasks(const ScopedQueue& queue);
    // The reason why a task whose lease has ended is not delivered again; none if it is.
    [[nodiscard]] static std::optional<std::string> exhaustion_reason(
        const LostLease& lost, const ScopedQueue& queue, int strikes, int attempts, int max_attempts
    );
    void add_due(const Candidate& candidate, int strikes);
    void end_exhausted();
    void claim_rounds();
    void claim_single_queue();
    // The highest priority of all ready rows, and the queues that have it.
    struct Level {
        int priority = 0;
        std::vector<const ScopedQueue*> queues;
    };
    [[nodiscard]] Level top_level();
    void claim_level(const Level& level);
    [[nodiscard]] std::vector<Candidate> merge_due(const Level& level);
    void take(const std::vector<Candidate>& candidates);
    void write_lease(const Candidate& candidate);
    void read_leased(const Candidate& candidate);
    // Reads the rows of read_ready and read_level with the values that they will have.
    int read_ready(Rows&& rows, int wanted, Duration lease);
    Message& read(Rows& rows);
    [[nodiscard]] std::optional<Timestamp> next_due();
    void sort_by_priority();
    void start_runs();
    void start_tasks();
    void add_lost_lease(RunId run, const LostLease& lost, std::string_view data);
    [[nodiscard]] std::string task_data(const TaskKey& task);
    // Null for a plain queue.
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
    RunStarter runs_;
    int remaining_;
    std::vector<Candidate> due_;
    std::optional<Timestamp> earliest_;  // first waiting or leased row, if that was prefetched
    bool has_due_ = false;               // then there are earlier ones
    bool top_read_ahead_;                // by prefetch_claim(), for the first top_level()
    std::optional<Candidate> suspect_;
    std::vector<Poison> poison_;
    std::vector<ExhaustedTask> exhausted_;
    seam::Claim claim_;
    std::vector<TaskKey> tasks_;  // with Work::tasks as many as messages
};

}  // namespace pawl::rowstore
