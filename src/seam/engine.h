// The runtime's interface to a store: claims, commits, heartbeats, and the claims of the services
// (schedules, outbox, retention).
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

// A worker's knowledge of itself.
struct WorkerView {
    WorkerId worker;
    WorkerStatus status{};
    std::vector<Lease> held;
    // Whether a lease in `held` is still held: its result may have been written in the meantime.
    std::function<bool(const Lease&)> still_held;
    std::int64_t version = 0;  // set by the store: the last state that the worker has seen
};

struct HeartbeatResult {
    // The stored status, which an operator may have changed. Not set if no worker was named, or if
    // only the leases could be extended.
    std::optional<WorkerStatus> status;
    bool known = true;  // false if the store has no row for the worker, which must register again
    std::int64_t beats = 0;  // heartbeats of this worker, this one included; 0 means unknown
    // One per lease; busy ones are retried by a later heartbeat.
    std::vector<WriteOutcome> outcomes;
};

// A schedule, as the scheduler sees it. Every change increments the version. A write names the
// version that was read; it returns false if another writer was faster.
struct StoredSchedule {
    std::int64_t id = 0;  // 0 for a new schedule
    std::int64_t version = 0;
    ScheduleInfo info;
};
struct DueSchedules {
    Timestamp now;  // the database's clock
    // Not paused, and a fire time is due or a waiting run may start.
    std::vector<StoredSchedule> due;
    std::optional<Timestamp> next_due;  // the earliest fire time of the others
    bool waiting = false;               // some wait for the end of a run: check again soon
};
// The scheduler's decision about a due schedule; model/schedule.h computes it.
struct ScheduleFire {
    std::int64_t id = 0;
    std::int64_t version = 0;
    struct Run {
        Timestamp fire_at;
        NewRun run;  // with idempotency key and time
    };
    std::vector<Run> runs;  // to be created in this order, as far as the overlap policy allows
    std::optional<Timestamp> next_fire_at;
};

// A delivery of an outbox event. The number fences it, as for leases of messages.
struct OutboxDelivery {
    OutboxEvent event;
    int delivery = 0;
};
struct OutboxClaim {
    std::vector<OutboxDelivery> events;  // events of one aggregate are consecutive and in order
    Timestamp now;
    std::optional<Timestamp> next_due;  // `now` if there may be more: claim again
};
struct OutboxReport {
    enum class Kind { published, retry, park, release };
    std::int64_t id = 0;
    int delivery = 0;
    Kind kind = Kind::published;
    std::string error;
    Duration delay{0};  // retry
};

// A retention policy, as one part of a pruning pass.
struct PrunePart {
    RetentionKind kind = RetentionKind::success;
    QueueId queue;  // 0 means the whole store
    std::string name;
};
// A row's position in the order of pruning.
struct PrunePosition {
    Timestamp at;
    std::int64_t id = 0;
    friend auto operator<=>(const PrunePosition&, const PrunePosition&) = default;
};
struct PruneBatch {
    RetentionKind kind = RetentionKind::success;
    QueueId queue;
    std::optional<PrunePosition> after;  // nullopt starts at the oldest
    int max_rows = 500;
    bool dry_run = false;  // counts without deleting
};
struct PrunedBatch {
    int looked = 0;  // rows examined; fewer than max_rows at the end of this policy
    std::int64_t pruned = 0;
    PrunePosition last;  // where the next batch continues
};
// next: granted if no process has pruned within the interval. keep: the process that has the turn
// keeps it for longer.
enum class PruneTurn { next, keep };
struct PruneGrant {
    bool granted = false;
    Duration wait{0};  // until the next request
};

// Differences between stores that matter to the code above the seam.
struct Capabilities {
    // False if other processes cannot wake this one (a pooler in transaction mode), so it polls.
    bool remote_wakeups = true;
    // The number of concurrent commits that improves throughput.
    std::size_t parallel_commits = 1;
};

class Engine : public Wakeups {
public:
    Engine(ConnectOptions options, base::Log log)
        : options_(std::move(options)), log_(std::move(log)) {}

    [[nodiscard]] const ConnectOptions& options() const { return options_; }
    [[nodiscard]] const base::Log& log() const { return log_; }
    [[nodiscard]] base::Outage& outage() { return outage_; }
    // May change while the store is open: do not cache.
    [[nodiscard]] virtual Capabilities capabilities() const { return {}; }

    // --- the hot path ---
    virtual Claim claim(const ClaimRequest& request) = 0;
    // One transaction, one round trip; returns one outcome per write, in order. A bad item is an
    // outcome, not an exception. Throws connection_failed, with in_doubt() if the answer to the
    // commit was lost.
    virtual std::vector<WriteOutcome> commit(Writes writes, Attempt attempt) = 0;
    std::vector<WriteOutcome> commit(std::span<const Write> writes, Attempt attempt) {
        std::vector<const Write*> batch;
        batch.reserve(writes.size());
        for (const Write& write : writes) batch.push_back(&write);
        return commit(Writes(batch), attempt);
    }
    // The worker's leases in these queues, as stored. Empty for a store whose answers cannot be
    // lost.
    virtual std::vector<Lease> leases_of(WorkerId, std::span<const QueueId>) { return {}; }
    // Uses its own connection, so that load does not delay it. Worker 0 only extends the leases.
    virtual HeartbeatResult heartbeat(WorkerId worker, std::span<const Write> extensions) = 0;
    // The same steps as in a claim; empty for an unknown run.
    virtual std::vector<ReplayStep> recorded_steps(RunId run) = 0;
    // Called if the holder of a run cannot decode the answer to a step: pauses the run at the step
    // again, with `message`. Safe to repeat.
    virtual Rejection reject_resume(
        const Lease& lease,
        const std::string& step,
        const std::string& message,
        Duration check_after
    ) = 0;
    // Ends QUEUED runs that are due, below one of the prefixes and without a live worker that has a
    // handler, as ERROR no_handler_registered, with an event. Returns them.
    virtual std::vector<RunId> fail_unhandled(std::span<const std::string> prefixes) = 0;

    // --- the worker itself ---
    virtual WorkerId register_worker(const NewWorker& worker) = 0;
    // Returns the new status. Throws worker_not_found, invalid_transition.
    virtual WorkerStatus transition_worker(WorkerId worker, WorkerEvent event) = 0;
    // Called after an unspecific wake-up. Returns whether a heartbeat would report something new to
    // the worker: its status or a lost lease. Writes nothing. The default is for stores that notify
    // workers only about themselves.
    [[nodiscard]] virtual bool has_news(WorkerView& /*view*/) { return true; }

    // --- lookups of a worker ---
    virtual std::vector<QueueInfo> queues() = 0;
    // Id 0 for a name that does not exist.
    virtual std::vector<QueueId> resolve_queues(std::span<const std::string> names) = 0;
    virtual std::vector<WorkflowInfo> workflows(const std::optional<std::string>& only) = 0;
    // In any order; names that do not exist are left out.
    virtual std::vector<WorkflowInfo> workflows_named(std::span<const std::string> names) = 0;
    virtual std::optional<FlowShape> flow_shape(const std::string& /*slug*/) { return {}; }
    // True if a live worker (neither stopped nor lost) has a handler for it.
    virtual bool has_live_handler(const std::string& workflow) = 0;
    virtual bool has_test_clock() = 0;

    // --- services: schedules, outbox, retention ---
    virtual DueSchedules due_schedules(int limit) = 0;
    // One transaction. Returns false, without effect, if another scheduler has fired it, if it was
    // changed, or if a fire time is not due by the database's clock.
    virtual bool fire_schedule(const ScheduleFire& /*fire*/) { unsupported("schedules"); }
    // Leases up to `limit` events, at most `per_aggregate` of each aggregate, from its oldest
    // pending event on; skips aggregates that another dispatcher holds. An event that waits for its
    // next attempt blocks only the later events of its aggregate; a parked event blocks none. Reads
    // O(limit) rows.
    virtual OutboxClaim claim_outbox(
        int /*limit*/, int /*per_aggregate*/, Duration /*lease*/
    ) {
        unsupported("the outbox");
    }
    virtual std::vector<WriteStatus> report_outbox(std::span<const OutboxReport> /*reports*/) {
        unsupported("the outbox");
    }
    // Begins a pass: determines the cut-offs of policies by count.
    virtual std::vector<PrunePart> plan_prune() { return {}; }
    // One short transaction. Never waits for locked rows.
    virtual PrunedBatch prune_batch(const PruneBatch& /*batch*/) { unsupported("retention"); }
    virtual PruneGrant claim_prune(Duration interval, PruneTurn turn) = 0;

private:
    const ConnectOptions options_;
    const base::Log log_;
    base::Outage outage_{log_};
};

}  // namespace pawl::seam
