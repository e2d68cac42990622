// What the runtime needs of a store to do work: claims, commits, heartbeats, and the claims of the
// services (schedules, outbox, retention).
#pragma once

#include <functional>
#include <optional>
#include <pawl/store.h>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/outage.h"
#include "seam/claim.h"
#include "seam/outcome.h"
#include "seam/unsupported.h"
#include "seam/wakeups.h"

namespace pawl::seam {

struct NewWorker {
    std::string name;
    std::string host;
    int port = 0;
    int pid = 0;
    Duration lease{};
    std::vector<std::string> subscriptions;
    std::vector<std::string> handlers;
};

// What a worker knows of itself.
struct WorkerView {
    WorkerId worker;
    WorkerStatus status{};
    std::vector<Lease> held;
    // Of one in `held`: its result may have been written meanwhile.
    std::function<bool(const Lease&)> still_held;
    std::int64_t version = 0;  // the store's: what it has shown to the worker
};

struct HeartbeatResult {
    // As stored: an operator may have changed it. Nothing where that could not be learned, though
    // leases were extended, or where no worker was named.
    std::optional<WorkerStatus> status;
    bool known = true;       // false: the store has no row for the worker; it must register again
    std::int64_t beats = 0;  // of this worker so far, with this one; 0: not learned
    std::vector<WriteOutcome> outcomes;  // one per lease; busy ones are simply asked again later
};

// A schedule as the scheduler sees it. The version grows with every change: who writes names the
// one that was read, and is refused (false) where somebody else was faster.
struct StoredSchedule {
    std::int64_t id = 0;  // 0: to be made
    std::int64_t version = 0;
    ScheduleInfo info;
};
struct DueSchedules {
    Timestamp now;                      // the database's clock
    std::vector<StoredSchedule> due;    // not paused; a fire time has come, or what waited may go
    std::optional<Timestamp> next_due;  // of the others
    bool waiting = false;               // some wait for the end of a run: look again soon
};
// What a scheduler found out about a due schedule; model/schedule.h computes it.
struct ScheduleFire {
    std::int64_t id = 0;
    std::int64_t version = 0;
    struct Run {
        Timestamp fire_at;
        NewRun run;  // key and time are set
    };
    std::vector<Run> runs;  // to be made, as far as the overlap policy allows, in this order
    std::optional<Timestamp> next_fire_at;
};

// A hand-out of the outbox: as leases of messages, the delivery fences.
struct OutboxDelivery {
    OutboxEvent event;
    int delivery = 0;
};
struct OutboxClaim {
    std::vector<OutboxDelivery> events;  // of one aggregate: consecutive, in order
    Timestamp now;
    std::optional<Timestamp> next_due;  // now: there may be more, claim again
};
struct OutboxReport {
    enum class Kind { published, retry, park, release };
    std::int64_t id = 0;
    int delivery = 0;
    Kind kind = Kind::published;
    std::string error;
    Duration delay{0};  // retry
};

// A policy of retention, as a pass of pruning goes through it.
struct PrunePart {
    RetentionKind kind = RetentionKind::success;
    QueueId queue;  // 0: the store's
    std::string name;
};
// A row in the order in which things of a kind are pruned.
struct PrunePosition {
    Timestamp at;
    std::int64_t id = 0;
    friend auto operator<=>(const PrunePosition&, const PrunePosition&) = default;
};
struct PruneBatch {
    RetentionKind kind = RetentionKind::success;
    QueueId queue;
    std::optional<PrunePosition> after;  // none: from the oldest on
    int max_rows = 500;
    bool dry_run = false;  // counts, and changes nothing
};
struct PrunedBatch {
    int looked = 0;  // rows gone through; fewer than max_rows: nothing more of this policy is to go
    std::int64_t pruned = 0;
    PrunePosition last;  // where to go on
};
// next: if nobody has had it within the interval; keep: who has it needs it for longer.
enum class PruneTurn { next, keep };
struct PruneGrant {
    bool granted = false;
    Duration wait{0};  // until it may be asked for again
};

// What a store can do, as far as it matters above the seam.
struct Capabilities {
    // False: other processes cannot wake this one (a pooler in transaction mode), so it polls.
    bool remote_wakeups = true;
    // How many commits can be under way at the same time and gain by it.
    std::size_t parallel_commits = 1;
};

class Engine : public Wakeups {
public:
    Engine(ConnectOptions options, base::Log log)
        : options_(std::move(options)), log_(std::move(log)) {}

    [[nodiscard]] const ConnectOptions& options() const { return options_; }
    [[nodiscard]] const base::Log& log() const { return log_; }
    [[nodiscard]] base::Outage& outage() { return outage_; }
    // May change while the store is open: ask each time.
    [[nodiscard]] virtual Capabilities capabilities() const { return {}; }

    // --- the hot path ---
    virtual Claim claim(const ClaimRequest& request) = 0;
    // One transaction, one round trip; one outcome per write, in order. Never throws for one bad
    // item. Throws connection_failed, with in_doubt() if the answer to the commit was lost.
    virtual std::vector<WriteOutcome> commit(Writes writes, Attempt attempt) = 0;
    std::vector<WriteOutcome> commit(std::span<const Write> writes, Attempt attempt) {
        std::vector<const Write*> batch;
        batch.reserve(writes.size());
        for (const Write& write : writes) batch.push_back(&write);
        return commit(Writes(batch), attempt);
    }
    // What the store has leased to the worker in these queues. Empty for a store whose answers
    // cannot be lost.
    virtual std::vector<Lease> leases_of(WorkerId, std::span<const QueueId>) { return {}; }
    // Over a connection of its own, so that no load delays it. Worker 0: only the leases.
    virtual HeartbeatResult heartbeat(WorkerId worker, std::span<const Write> extensions) = 0;
    // As a claim brings them; empty for an unknown run.
    virtual std::vector<ReplayStep> recorded_steps(RunId run) = 0;
    // The holder of a run cannot decode the answer of a step: pauses it there again, with
    // `message`. Safe to repeat.
    virtual Rejection reject_resume(
        const Lease& lease,
        const std::string& step,
        const std::string& message,
        Duration check_after
    ) = 0;
    // Ends QUEUED runs that are due, below one of the prefixes, and for which no live worker has a
    // handler, as ERROR no_handler_registered, with an event. Returns them.
    virtual std::vector<RunId> fail_unhandled(std::span<const std::string> prefixes) = 0;

    // --- the worker itself ---
    virtual WorkerId register_worker(const NewWorker& worker) = 0;
    // The new status. Throws worker_not_found, invalid_transition.
    virtual WorkerStatus transition_worker(WorkerId worker, WorkerEvent event) = 0;
    // Something was written, and nobody knows what: whether a heartbeat would tell the worker more
    // than it knows, its status or a lease that it has lost. Writes nothing. A store that notifies
    // workers only about themselves need not check.
    [[nodiscard]] virtual bool has_news(WorkerView& /*view*/) { return true; }

    // --- what a worker looks up ---
    virtual std::vector<QueueInfo> queues() = 0;
    // Id 0 for a name that does not exist.
    virtual std::vector<QueueId> resolve_queues(std::span<const std::string> names) = 0;
    virtual std::vector<WorkflowInfo> workflows(const std::optional<std::string>& only) = 0;
    // In any order; names that do not exist are left out.
    virtual std::vector<WorkflowInfo> workflows_named(std::span<const std::string> names) = 0;
    virtual std::optional<FlowShape> flow_shape(const std::string& /*slug*/) { return {}; }
    // True when a live worker (not stopped, not lost) has a handler for it.
    virtual bool has_live_handler(const std::string& workflow) = 0;
    virtual bool has_test_clock() = 0;

    // --- services: schedules, outbox, retention ---
    virtual DueSchedules due_schedules(int limit) = 0;
    // One transaction. False: another scheduler has fired it, or it was changed; nothing was done.
    // A fire time that is not due by the database's clock is refused too.
    virtual bool fire_schedule(const ScheduleFire& /*fire*/) { unsupported("schedules"); }
    // Up to `limit` events of aggregates nobody else holds, from the oldest pending one of each on,
    // at most `per_aggregate` of each; leased. One that waits for its next try holds back the later
    // ones of its aggregate only; parked ones hold back nobody. What it reads is bounded by
    // `limit`, however many events and aggregates there are.
    virtual OutboxClaim claim_outbox(
        int /*limit*/, int /*per_aggregate*/, Duration /*lease*/
    ) {
        unsupported("the outbox");
    }
    virtual std::vector<WriteStatus> report_outbox(std::span<const OutboxReport> /*reports*/) {
        unsupported("the outbox");
    }
    // Begins a pass: finds where policies by count end now.
    virtual std::vector<PrunePart> plan_prune() { return {}; }
    // One short transaction. Never waits for rows that somebody else has in hand.
    virtual PrunedBatch prune_batch(const PruneBatch& /*batch*/) { unsupported("retention"); }
    virtual PruneGrant claim_prune(Duration interval, PruneTurn turn) = 0;

private:
    const ConnectOptions options_;
    const base::Log log_;
    base::Outage outage_{log_};
};

}  // namespace pawl::seam
