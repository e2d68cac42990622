// The seam. Backends differ in how, never in what: tests/conformance is the definition.
#pragma once

#include <functional>
#include <optional>
#include <pawl/store.h>
#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/run_signals.h"
#include "base/wake_hub.h"
#include "store/batch.h"
#include "store/outage.h"
#include "store/worker_watch.h"

namespace pawl::store {

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

// What waits in the store, for monitors: cheap enough to be asked for every few seconds.
struct Backlog {
    std::vector<QueueStats> queues;      // those that exist, by name
    std::optional<Duration> outbox_lag;  // none: nothing is due
    std::int64_t workers_live = 0;
    std::int64_t workers_lost = 0;
};

// What became of a trigger. Not created: the idempotency key had been used, this is that run.
struct Triggered {
    RunId run;
    bool created = true;
};

// As much of a run as who waits for its end has to know.
struct RunEnd {
    RunStatus status = RunStatus::queued;
    bool deleted = false;
    std::optional<Json> output;
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

// The result of searching a page of live runs for lost work.
struct LostPosition {
    QueueId workflow;
    RunId run;
};
struct LostPage {
    int looked = 0;  // live runs; fewer than asked for: that was all
    std::vector<LostWork> lost;
    LostPosition last;
};

class Backend {
public:
    Backend(ConnectOptions options, base::Log log)
        : options_(std::move(options)), log_(std::move(log)) {}
    virtual ~Backend() = default;
    // For another store of the same program: the hook is still called once at a time.
    [[nodiscard]] ConnectOptions shared_options() const {
        ConnectOptions options = options_;
        options.log = [log = log_](LogLevel level, std::string_view text) {
            log.write(level, text);
        };
        return options;
    }
    Backend(const Backend&) = delete;
    Backend& operator=(const Backend&) = delete;

    [[nodiscard]] const ConnectOptions& options() const { return options_; }
    [[nodiscard]] const base::Log& log() const { return log_; }
    [[nodiscard]] Outage& outage() { return outage_; }
    [[nodiscard]] WorkerWatch& worker_watch() { return worker_watch_; }

    [[nodiscard]] virtual StoreInfo info() const = 0;

    // --- schema and clock ---
    virtual InstallReport install() = 0;
    // Of an installed store. Throws invalid_argument.
    virtual void install_compat(Compat compat) = 0;
    virtual SchemaReport verify() = 0;
    // Fences every holder from before a restore. Returns how many live messages there are.
    virtual std::int64_t restored() = 0;
    // Also where this store is not installed.
    virtual std::vector<Tenant> tenants() = 0;
    // The name is checked by the caller (model::check_schema_name).
    virtual std::shared_ptr<Backend> open_tenant(const std::string& name) = 0;
    virtual Timestamp now() = 0;
    virtual void set_test_clock(std::optional<Timestamp> now) = 0;  // nullopt restores the real one
    virtual bool has_test_clock() = 0;

    // --- the hot path ---
    virtual Claim claim(const ClaimRequest& request) = 0;
    // One transaction, one round trip; one outcome per write, in order. Never throws for one bad
    // item. Throws connection_failed, with in_doubt() where the answer to the commit was lost.
    virtual std::vector<WriteOutcome> commit(std::span<const Write> writes, Attempt attempt) = 0;
    // What the store has leased to the worker in these queues. Empty for a store whose answers
    // cannot be lost.
    virtual std::vector<Lease> leases_of(WorkerId, std::span<const QueueId>) { return {}; }
    // Over a connection of its own, so that no load delays it. Worker 0: only the leases.
    virtual HeartbeatResult heartbeat(WorkerId worker, std::span<const Write> extensions) = 0;

    // --- producing: payloads and options are checked by the caller (api) ---
    virtual std::vector<MessageId> enqueue(
        const std::string& queue, std::span<const NewMessage> messages
    ) = 0;
    virtual std::vector<MessageId> enqueue_in(
        Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
    ) = 0;

    // --- queues ---
    virtual void create_queue(const std::string& name, const QueueOptions& options) = 0;
    virtual void delete_queue(const std::string& name, DeleteMode mode) = 0;
    virtual void set_queue_paused(const std::string& name, bool paused) = 0;
    virtual std::int64_t purge_queue(const std::string& name) = 0;
    virtual std::vector<QueueInfo> queues() = 0;
    virtual std::optional<QueueInfo> find_queue(const std::string& name) = 0;
    // Id 0 for a name that does not exist.
    virtual std::vector<QueueId> resolve_queues(std::span<const std::string> names) = 0;
    // Of one queue (empty if it does not exist) or of all. The archive is counted up to `archived`.
    virtual std::vector<QueueStats> queue_stats(
        const std::optional<std::string>& only, std::int64_t archived
    ) = 0;

    // --- look-ups; all throw queue_not_found ---
    virtual std::optional<Message> find_message(const std::string& queue, MessageId id) = 0;
    virtual std::vector<Message> list_messages(
        const std::string& queue, MessageState state, const PageRequest& page
    ) = 0;
    virtual std::vector<ArchivedMessage> list_archive(
        const std::string& queue, ArchiveFilter filter, const PageRequest& page
    ) = 0;
    // Id 0: every dead letter of the queue. Returns how many went back.
    virtual std::int64_t replay(const std::string& queue, MessageId id) = 0;
    virtual std::int64_t purge_archive(const std::string& queue, ArchiveFilter filter) = 0;

    // --- workflows ---
    virtual void create_workflow(const std::string& name, const WorkflowOptions& options) = 0;
    // With its queue and its finished runs. Throws workflow_not_found, workflow_has_runs.
    virtual void delete_workflow(const std::string& name) = 0;
    virtual std::vector<WorkflowInfo> workflows(const std::optional<std::string>& only) = 0;
    // Throws workflow_not_found.
    virtual WorkflowMetrics workflow_metrics(const std::string& name, Duration window) = 0;
    // True when a live worker (not stopped, not lost) has a handler for it.
    virtual bool has_live_handler(const std::string& workflow) = 0;
    // Ends QUEUED runs that are due, below one of the prefixes, and for which no live worker has a
    // handler, as ERROR no_handler_registered, with an event. Returns them.
    virtual std::vector<RunId> fail_unhandled(std::span<const std::string> prefixes) = 0;

    // --- flows. Values are checked by the caller (model/flow.h) where SQL does not do it anyway.
    // ---
    virtual void create_flow(const std::string& slug, const FlowOptions& options) = 0;
    // Throws flow_not_found, flow_mismatch, invalid_argument (an unknown dependency, ...).
    virtual void add_step(const std::string& flow, const FlowStep& step) = 0;
    // create_flow and all add_steps, in one transaction.
    virtual void create_flow_shape(const FlowShape& shape) = 0;
    virtual EnsuredFlow ensure_flow(const FlowShape& shape, EnsureMode mode) = 0;
    virtual std::optional<FlowShape> flow_shape(const std::string& slug) = 0;
    // Throws flow_not_found, workflow_has_runs.
    virtual void delete_flow(const std::string& slug, DeleteMode mode) = 0;
    virtual std::vector<TaskInfo> tasks(RunId run) = 0;  // empty for an unknown run
    // By hand. Delivery 0: not fenced, the first report wins. They wait for locks.
    virtual TaskOutcome complete_task(const TaskRef& task, const Json& output, int delivery) = 0;
    virtual TaskOutcome fail_task(const TaskRef& task, const std::string& error, int delivery) = 0;

    // --- triggering: inputs and options are checked by the caller (api). All or nothing; throws
    // workflow_not_found. ---
    virtual std::vector<Triggered> trigger(std::span<const NewRun> runs) = 0;
    virtual std::vector<Triggered> trigger_in(
        Transaction transaction, std::span<const NewRun> runs
    ) = 0;

    // --- runs ---
    virtual std::optional<RunInfo> find_run(RunId run) = 0;  // soft-deleted ones too
    virtual std::optional<RunEnd> find_end(RunId run) = 0;   // the same run, with less work
    virtual std::vector<RunInfo> list_runs(const RunFilter& filter, const RunPage& page) = 0;
    virtual RunCounts count_runs(const RunFilter& filter, std::int64_t limit) = 0;
    // Empty for an unknown run; so are the next three.
    virtual std::vector<StepInfo> steps(RunId run) = 0;
    virtual std::vector<RecordedStep> recorded_steps(RunId run) = 0;  // as a claim brings them
    virtual std::vector<RunEvent> events(RunId run) = 0;
    virtual std::vector<RunInfo> lineage(RunId run) = 0;
    // All throw run_not_found (for soft-deleted ones run_deleted), and what Store says.
    virtual void resume(
        RunId run, const std::string& step, const Json& data, const ResumeOptions& options
    ) = 0;
    // The holder of a run cannot decode the answer of a step: pauses it there again, with
    // `message`. Safe to repeat.
    virtual Rejection reject_resume(
        const Lease& lease,
        const std::string& step,
        const std::string& message,
        Duration check_after
    ) = 0;
    virtual void cancel(RunId run, const std::string& reason) = 0;
    virtual void wake(RunId run) = 0;
    virtual RunId retry(RunId run) = 0;
    virtual RunId fork(RunId run, const std::string& from_step) = 0;
    virtual void delete_run(RunId run, const std::string& reason) = 0;

    // Live runs, and open tasks of flows, without a message: of the next `max_runs` live runs.
    virtual LostPage find_lost_work(const LostPosition& after, int max_runs) = 0;
    // Restores the messages of all lost work, ready immediately; returns that work.
    virtual std::vector<LostWork> repair() = 0;

    // --- schedules ---
    virtual std::vector<StoredSchedule> schedules(const std::optional<std::string>& only) = 0;
    // Inserts (id 0) or updates. False: the name exists already, or the version is not the one
    // named. Throws workflow_not_found.
    virtual bool save_schedule(const StoredSchedule& schedule) = 0;
    virtual void delete_schedule(const std::string& name) = 0;  // throws schedule_not_found
    virtual DueSchedules due_schedules(int limit) = 0;
    // One transaction. False: another scheduler has fired it, or it was changed; nothing was done.
    // A fire time that is not due by the database's clock is refused too.
    virtual bool fire_schedule(const ScheduleFire& fire) = 0;

    // --- outbox ---
    virtual void publish(std::span<const OutboxRecord> events) = 0;
    virtual void publish_in(Transaction transaction, std::span<const OutboxRecord> events) = 0;
    virtual std::vector<OutboxEvent> list_outbox(const OutboxFilter& filter) = 0;
    // Up to `limit` events of aggregates nobody else holds, from the oldest pending one of each on,
    // at most `per_aggregate` of each; leased. One that waits for its next try holds back the later
    // ones of its aggregate only; parked ones hold back nobody. What it reads is bounded by
    // `limit`, however many events and aggregates there are.
    virtual OutboxClaim claim_outbox(int limit, int per_aggregate, Duration lease) = 0;
    virtual std::vector<WriteStatus> report_outbox(std::span<const OutboxReport> reports) = 0;
    virtual std::int64_t retry_parked(std::int64_t id) = 0;  // 0: all; returns how many
    virtual std::optional<Duration> outbox_lag(
    ) = 0;  // age of the oldest pending event that is due

    // --- retention. What the caller (model/check_retention.h) has checked. ---
    // Throws workflow_not_found, queue_not_found, workflow_queue.
    virtual void set_retention(RetentionKind kind, const std::string& name, const Keep& keep) = 0;
    virtual void clear_retention(RetentionKind kind, const std::string& name) = 0;
    virtual std::vector<RetentionPolicy> retention() = 0;
    // Begins a pass: finds where policies by count end now.
    virtual std::vector<PrunePart> plan_prune() = 0;
    // One short transaction. Never waits for rows that somebody else has in hand.
    virtual PrunedBatch prune_batch(const PruneBatch& batch) = 0;
    virtual PruneGrant claim_prune(Duration interval, PruneTurn turn) = 0;

    // --- workers ---
    virtual WorkerId register_worker(const NewWorker& worker) = 0;
    // The new status. Throws worker_not_found, invalid_transition.
    virtual WorkerStatus transition_worker(WorkerId worker, WorkerEvent event) = 0;
    // Something was written, and nobody knows what: whether a heartbeat would tell the worker more
    // than it knows, its status or a lease that it has lost. Writes nothing. A store that notifies
    // workers only about themselves need not check.
    [[nodiscard]] virtual bool has_news(WorkerView& /*view*/) { return true; }
    virtual std::vector<WorkerInfo> workers(std::optional<WorkerId> only) = 0;
    virtual std::int64_t purge_workers(Duration older_than) = 0;
    // Throws worker_not_found, invalid_transition.
    virtual void delete_worker(WorkerId worker) = 0;
    virtual std::vector<Message> held_messages(WorkerId worker, const PageRequest& page) = 0;

    virtual StoreStats stats() = 0;
    // Of these queues and the whole store, in one round trip.
    virtual Backlog backlog(std::span<const std::string> queues) = 0;

    // --- wake-ups: hints only ---
    // Starts listening on first use; woken by queue id, or by everything.
    virtual base::WakeHub& wake_hub() = 0;
    // Runs that ended or were cancelled, as far as this process hears of it; starts listening too.
    virtual base::RunSignals& run_signals() = 0;
    // Somebody here waits for the end of this run: whoever ends it shall send a wake-up. Returns
    // the run as it is after that: it may have ended before anybody knew.
    virtual std::optional<RunEnd> announce_waiter(RunId run) = 0;
    // False where other processes cannot wake us (a pooler in transaction mode): poll more often.
    [[nodiscard]] virtual bool hears_others() const { return true; }
    // How many commits can be under way at the same time and gain by it.
    [[nodiscard]] virtual std::size_t parallel_commits() const { return 1; }

private:
    ConnectOptions options_;
    base::Log log_;
    Outage outage_{log_};
    WorkerWatch worker_watch_{*this};
};

}  // namespace pawl::store
