// The store: one SQLite file or one schema of a PostgreSQL database, with everything pawl keeps.
//
//   pawl::Store store = pawl::connect("sqlite:app.db");
//   store.install();
//   store.create_queue("mail");
//
// How names are formed: store.queue(name) and store.run(id) are handles with verbs. Plural nouns
// list (queues, runs, workflows, ...). create_ and delete_ define things; _info reads one
// definition.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <pawl/codec.h>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/flow.h>
#include <pawl/log.h>
#include <pawl/outbox.h>
#include <pawl/queue.h>
#include <pawl/retention.h>
#include <pawl/run.h>
#include <pawl/schedule.h>
#include <pawl/stats.h>
#include <pawl/worker_info.h>
#include <pawl/workflow.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

/// The options of connect(). docs/configuration.md has them as a table.
struct ConnectOptions {
    Duration lease = std::chrono::seconds(30);      ///< for queues and workers that set none
    Duration heartbeat = std::chrono::seconds(10);  ///< how often a worker extends its leases
    /// The limit for opening one connection, the server's first answer included. Each host of a URL
    /// gets all of it.
    Duration connect_timeout = std::chrono::seconds(10);
    /// How long a call keeps trying while the database is away.
    Duration retry_timeout = std::chrono::seconds(30);
    /// How long a worker's call waits for PostgreSQL's answer before the connection counts as lost.
    /// Heartbeats wait for at most the time of a lease. If a commit is cut off, its outcome is
    /// unknown; the worker repeats it, and writes that were already recorded count once. Other
    /// calls have no limit.
    Duration call_timeout = std::chrono::seconds(30);
    /// How long enqueue, trigger and publish wait for PostgreSQL's answer. Then they throw
    /// connection_failed with in_doubt(): the write may have happened. A trigger with an
    /// idempotency key is repeated, up to retry_timeout. Large batches may need more.
    Duration producer_timeout = std::chrono::minutes(1);
    Duration pause_check_interval = std::chrono::hours(1);  ///< for pauses that set none
    /// How often a waiting call or an idle worker checks the store if no wake-up arrives. Wake-ups
    /// normally arrive within milliseconds, so this only bounds the delay after a lost one.
    Duration poll_interval = std::chrono::seconds(5);
    /// The limit for messages, inputs, and outputs of steps and runs.
    std::size_t max_payload_bytes = 1 << 20;
    LogHook log = log_to_stderr;     ///< nullptr means no log
    bool accept_test_clock = false;  ///< lets workers run on a clock that a test has replaced
    /// How often a worker removes data that no retention policy keeps. One worker of the store does
    /// so at a time. 0 means that workers of this process never do so.
    Duration prune_interval = std::chrono::minutes(10);
};

/// Work that no worker can claim, because its message is gone: a live run of a workflow, or an open
/// task of a flow's run. pawl itself never loses a message.
struct LostWork {
    RunId run;
    std::string workflow;
    std::string step;    ///< of a flow's task; empty: the run itself
    int task_index = 0;  ///< of a flow's task
};
/// "run 16 of workflow 'order'", "task 0 of step 'price' in run 17 of flow 'shop'"
[[nodiscard]] PAWL_EXPORT std::string to_string(const LostWork& lost);

/// What install() does about a finding of verify(). migrate: applies the migrations up to the
/// newest version. keep: nothing, because it harms nothing. by_hand: nothing, because it cannot;
/// the finding says why, or data are lost.
enum class InstallAction { create, replace, migrate, keep, by_hand };
/// The name: "create", "replace", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(InstallAction action);

/// One difference between the schema and what this version of the library defines.
struct SchemaFinding {
    /// schema, table, column, index, constraint, trigger, view, function, setting; grant: a
    /// privilege that is dangerous; clock: it is replaced by a test.
    std::string kind;
    std::string name;     ///< of the object: "messages_ready", "runs.priority", ...
    std::string problem;  ///< "index messages_ready is missing", ...
    InstallAction action = InstallAction::by_hand;
};

/// What verify() found. If both lists are empty, the schema is what this version of the library
/// defines, and no work is lost.
struct SchemaReport {
    int version = 0;                       ///< of the database; 0: not installed
    std::vector<SchemaFinding> findings;   ///< the differences, and what install() would do
    std::vector<LostWork> lost_work = {};  ///< store.repair() restores it
    /// True if nothing was found.
    [[nodiscard]] bool ok() const { return findings.empty() && lost_work.empty(); }
    /// The findings as text: "index messages_ready is missing", ...
    [[nodiscard]] PAWL_EXPORT std::vector<std::string> problems() const;
};

/// What install() did.
struct InstallReport {
    int from_version = 0;               ///< before the call; 0: not installed
    int version = 0;                    ///< after the call
    std::vector<std::string> repaired;  ///< "index messages_ready is missing: restored", ...
    std::vector<std::string> problems;  ///< what it could not repair, and why
    /// True if the schema is now what this version of the library defines.
    [[nodiscard]] bool ok() const { return problems.empty(); }
};

/// A second set of SQL names, those of another product, over the functions of a store. For pgflow
/// see docs/pgflow.md.
enum class Compat { pgflow };
/// The name: "pgflow".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(Compat compat);

/// What a store was opened with.
struct StoreInfo {
    std::string url;      ///< with *** instead of a password
    std::string backend;  ///< "sqlite" or "postgresql"
    std::string schema;   ///< the tenant; "pawl" unless the URL names another
    ConnectOptions options;
};

/// Whether a queue or flow is deleted with what it holds, or only if it holds nothing.
enum class DeleteMode { if_empty, force };
/// The name: "if-empty", "force".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(DeleteMode mode);

/// One of several stores that share a PostgreSQL database, each in its own schema, or a directory
/// of SQLite files (app.db, app.tenant_a.db). See docs/tenants.md.
struct Tenant {
    std::string name;        ///< the value of `?schema=`; `pawl` by default
    int schema_version = 0;  ///< may differ from this library's
};

/// A handle of an open store. It is cheap to copy, and may be used from several threads. The
/// connections and the threads of the store end when its last handle (Store, Queue, Run, Worker,
/// Dispatcher) is destroyed; the destructor waits for a callback of Run::on_end() that runs.
///
/// Calls block until the database has answered. While it is away they retry for
/// ConnectOptions::retry_timeout, and then throw connection_failed. A write whose outcome is
/// unknown is repeated only if that is safe; else the call throws an Error with in_doubt(). Calls
/// inside the caller's own transaction (trigger_in, publish_in, enqueue_in, execute_in) are never
/// retried. What a call has written is durable on return.
///
/// Every call may throw connection_failed, timeout, busy, not_installed, schema_too_new,
/// schema_too_old and database_error; the comments name the codes in addition to these.
class PAWL_EXPORT Store {
public:
    /// Does not access the database.
    [[nodiscard]] StoreInfo info() const;

    /// Creates or upgrades the schema, and restores indexes, functions, views, constraints and
    /// settings that are missing or different. Tables and columns that were dropped are not
    /// restored, because their data are lost: they are reported as problems. Repairs and problems
    /// are logged as warnings too. Idempotent; safe from several processes concurrently and while
    /// workers run.
    InstallReport install() const;
    /// install(), and the schema of that product. Later calls of install() keep it up to date.
    /// PostgreSQL only. Throws invalid_argument on SQLite, and if the product's own schema or that
    /// of another store is in its place.
    InstallReport install(Compat compat) const;
    /// Compares the schema with what this version of the library defines, and searches the first
    /// 10,000 live runs for lost work; find_lost_work() searches all of them. Changes nothing.
    [[nodiscard]] SchemaReport verify() const;
    /// To be called after a restore of a backup, before workers start: see docs/restore.md. Moves
    /// all ids ahead and raises the delivery of every live message, so that nothing that a worker
    /// took before the restore can be reported. Returns the number of live messages.
    std::int64_t restored() const;
    /// Live runs, and open tasks of flows, that have no message. Reads live runs in small pages,
    /// never the history.
    [[nodiscard]] std::vector<LostWork> find_lost_work() const;
    /// Restores the messages of lost work, ready immediately, and returns that work. Recorded steps
    /// stay. Safe while workers run; earlier holders of such a run stay fenced.
    std::vector<LostWork> repair() const;

    /// The tenants that are installed and that this role may read, by name. This store need not be
    /// installed itself.
    [[nodiscard]] std::vector<Tenant> tenants() const;
    /// Opens another tenant with the options and URL parameters of this store, over connections of
    /// its own. install() creates it. Throws invalid_schema_name, connection_failed.
    [[nodiscard]] Store tenant(std::string_view name) const;

    // --- queues ---
    /// Creates the queue, or changes the options that are set. A name has 1 to 128 letters, digits,
    /// '_', '-', '.' or ':', and does not start with '.'.
    Queue create_queue(std::string_view name, const QueueOptions& options = {}) const;
    /// The handle of a queue, with every verb: enqueue, dequeue, stats, pause, ... Does no I/O.
    [[nodiscard]] Queue queue(std::string_view name) const;
    /// All queues, those of workflows and flows included, by name.
    [[nodiscard]] std::vector<QueueInfo> queues() const;
    /// Deletes the queue and its archive. if_empty: throws queue_not_empty if there are live
    /// messages or dead letters.
    void delete_queue(std::string_view name, DeleteMode mode = DeleteMode::if_empty) const;

    // --- workflows ---
    /// Creates the workflow and its queue, or changes the options that are set. Same naming rules
    /// as for queues. For a flow only dead_letter_workflow, audit and publish can be changed.
    WorkflowInfo create_workflow(std::string_view name, const WorkflowOptions& options = {}) const;
    /// All workflows and flows, by name.
    [[nodiscard]] std::vector<WorkflowInfo> workflows() const;
    /// One workflow or flow. Throws workflow_not_found.
    [[nodiscard]] WorkflowInfo workflow_info(std::string_view name) const;
    /// Deletes the workflow and its finished runs. Throws workflow_has_runs if live runs exist.
    void delete_workflow(std::string_view name) const;
    /// Rates and durations of the runs that ended within the window. Throws workflow_not_found.
    [[nodiscard]] WorkflowMetrics workflow_metrics(
        std::string_view name, Duration window = std::chrono::hours(1)
    ) const;

    // --- triggers (see pawl/workflow.h for single ones) ---
    /// @{
    /// Creates many runs, of one or several workflows, in one commit: all or nothing. An error
    /// names the index of the bad one. Handles are in the order of `runs`.
    std::vector<Run> trigger(std::span<const NewRun> runs) const;
    std::vector<Run> trigger(std::span<const Trigger> triggers) const;
    /// @}

    /// The same inside the caller's own open transaction.
    std::vector<Run> trigger_in(Transaction transaction, std::span<const NewRun> runs) const;

    // --- flows (pawl/flow.h has a builder for these) ---
    /// Creates the flow and its queue, or changes the options that are set.
    void create_flow(std::string_view slug, const FlowOptions& options = {}) const;
    /// Adding the same step again changes nothing; a different one of that name is refused
    /// (flow_mismatch). Throws flow_not_found, invalid_argument.
    void add_step(std::string_view flow, const FlowStep& step) const;
    /// The stored declaration. Throws flow_not_found.
    [[nodiscard]] FlowShape flow_shape(std::string_view slug) const;
    /// Creates the flow, or finds it the same; a different one is refused (flow_mismatch). If the
    /// answer was lost and the call is repeated, the flow that it created is found: `same`.
    EnsuredFlow ensure_flow(const FlowShape& shape, EnsureMode mode = EnsureMode::refuse_different)
        const;
    /// Deletes the flow and its runs. if_empty: throws workflow_has_runs if live runs exist.
    void delete_flow_and_data(std::string_view slug, DeleteMode mode = DeleteMode::if_empty) const;
    /// Starts up to `max_tasks` tasks for the caller, without a worker. `lease` is that of tasks
    /// without a timeout.
    [[nodiscard]] std::vector<Task> poll_for_tasks(
        std::string_view flow, int max_tasks = 1, Duration lease = std::chrono::seconds(30)
    ) const;
    /// Reports success of a task; its dependents may start. A delivery above 0 fences the report;
    /// with 0 the first report wins. If the answer is lost the report is repeated, and is `done` if
    /// it had been recorded.
    TaskOutcome complete_task(const TaskRef& task, const Json& output, int delivery = 0) const;
    /// Reports a failed attempt: the task is retried after the backoff, or fails if all attempts
    /// are used. Without the delivery a lost answer throws with in_doubt() and is not repeated,
    /// because the next attempt may have started.
    TaskOutcome fail_task(const TaskRef& task, std::string_view error, int delivery = 0) const;

    // --- runs ---
    /// The handle of a run, with every verb: info, wait, cancel, resume, retry, fork. Does no I/O.
    [[nodiscard]] Run run(RunId id) const;
    /// The runs that match, newest first. Soft-deleted ones only if the filter includes them.
    [[nodiscard]] std::vector<RunInfo> runs(const RunFilter& filter = {}, const RunPage& page = {})
        const;
    /// Each count stops at `limit` (1 to 1,000,000) and says so.
    [[nodiscard]] RunCounts count_runs(const RunFilter& filter = {}, std::int64_t limit = 10'000)
        const;

    // Short forms of the verbs of Run, for callers that have an id.
    /// @{
    /// The verb of that name of the handle run(id).
    void cancel(RunId run, std::string_view reason) const { this->run(run).cancel(reason); }
    void wake(RunId run) const { this->run(run).wake(); }
    Run retry(RunId run) const { return this->run(run).retry(); }
    Run fork(RunId run, std::string_view from_step) const { return this->run(run).fork(from_step); }
    void delete_run(RunId run, std::string_view reason) const {
        this->run(run).soft_delete(reason);
    }
    void resume(
        RunId run, std::string_view step, const Json& data = {}, const ResumeOptions& options = {}
    ) const {
        this->run(run).resume(step, data, options);
    }
    template <class T>
    void resume(RunId run, std::string_view step, const T& data, const ResumeOptions& options = {})
        const {
        this->run(run).resume(step, data, options);
    }
    /// @}

    // --- schedules (see pawl/schedule.h) ---
    /// Creates the schedule, or changes the options that are set. If its times change, the next
    /// fire time is counted from now. Throws workflow_not_found; invalid_argument, which points at
    /// the field.
    ScheduleInfo create_schedule(
        std::string_view name,
        std::string_view workflow,
        std::string_view cron,
        const Json& params = {},
        const ScheduleOptions& options = {}
    ) const;
    /// The same for a typed value, through <pawl/json.h>.
    template <class T>
    ScheduleInfo create_schedule(
        std::string_view name,
        std::string_view workflow,
        std::string_view cron,
        const T& params,
        const ScheduleOptions& options = {}
    ) const {
        return create_schedule(name, workflow, cron, Json(detail::encode(params)), options);
    }
    [[nodiscard]] std::vector<ScheduleInfo> schedules() const;  ///< by name
    /// This and the next four throw schedule_not_found.
    [[nodiscard]] ScheduleInfo schedule_info(std::string_view name) const;
    void pause_schedule(std::string_view name) const;   ///< it does not fire until resumed
    void resume_schedule(std::string_view name) const;  ///< missed fire times are not caught up
    Run run_schedule_now(std::string_view name) const;  ///< triggers an extra run now
    void delete_schedule(std::string_view name) const;  ///< its runs stay

    // --- outbox (see pawl/outbox.h) ---
    /// Puts an event into the outbox. Returns the event's id, a UUID, after the commit. Throws
    /// invalid_payload, payload_too_large, invalid_argument. An Error with in_doubt() means that
    /// the event may have been stored.
    std::string publish(const NewOutboxEvent& event) const;
    /// The same inside the caller's own open transaction: the event exists if and only if that
    /// transaction commits.
    std::string publish_in(Transaction transaction, const NewOutboxEvent& event) const;
    /// The events that match, oldest first.
    [[nodiscard]] std::vector<OutboxEvent> outbox(const OutboxFilter& filter = {}) const;
    /// Delivers parked events again: one, or all if `id` is 0. Throws outbox_event_not_found.
    std::int64_t retry_parked(std::int64_t id = 0) const;

    // --- retention (see pawl/retention.h) ---
    /// Replaces the policy of this kind for a workflow or queue. Keep{} keeps everything forever.
    /// The name all_names ("*") sets the policy of all workflows or queues that have none of their
    /// own; for it Keep{} removes the policy. Throws workflow_not_found, queue_not_found,
    /// workflow_queue, invalid_argument.
    void set_retention(RetentionKind kind, std::string_view name, const Keep& keep) const;
    /// The same for the kinds that concern the whole store: outbox, deleted, workers.
    void set_retention(RetentionKind kind, const Keep& keep) const;
    /// Removes a policy. The policy for all names then applies, if there is one.
    void clear_retention(RetentionKind kind, std::string_view name = "") const;
    [[nodiscard]] std::vector<RetentionPolicy> retention() const;  ///< by name, then kind
    /// Removes everything that no policy keeps, in short transactions with pauses in between.
    /// Safe while workers and other pruners run. If it is interrupted, the next one continues.
    PruneReport prune(const PruneOptions& options = {}) const;

    // --- workers ---
    /// All registered workers of all processes, stopped ones included, by id.
    [[nodiscard]] std::vector<WorkerInfo> workers() const;
    [[nodiscard]] WorkerInfo worker_info(WorkerId id) const;  ///< throws worker_not_found
    /// Changes the status of a worker in any process. The worker is notified and follows
    /// immediately, or at its next heartbeat if it does not listen. Throws invalid_transition.
    void transition_worker(WorkerId id, WorkerEvent event) const;
    /// Removes stopped and lost workers whose last heartbeat is older; returns how many.
    std::int64_t purge_workers(Duration older_than) const;
    /// Removes one worker, which must have stopped or be lost. Throws worker_not_found,
    /// invalid_transition.
    void delete_worker(WorkerId id) const;
    /// The messages that a worker holds, runs and tasks included, by id. Empty for an unknown
    /// worker.
    [[nodiscard]] std::vector<Message> held_messages(WorkerId id, const PageRequest& page = {})
        const;

    [[nodiscard]] StoreStats stats() const;                     ///< sums over all queues
    [[nodiscard]] std::vector<QueueStats> queue_stats() const;  ///< one per queue, by name
    [[nodiscard]] Timestamp now() const;                        ///< the database's clock

private:
    friend struct detail::Access;
    explicit Store(std::shared_ptr<engine::OpenStore> store) : store_(std::move(store)) {}

    std::shared_ptr<engine::OpenStore> store_;
};

/// Opens a store:
/// `sqlite:path/to/file.db`, `sqlite::memory:`, `postgresql://user@host/db` or `postgres://...`
/// Parameters: schema (a tenant, default pawl: see docs/tenants.md), synchronous (SQLite: full,
/// normal), busy_timeout (SQLite, milliseconds), max_connections, pooler=transaction (PostgreSQL
/// behind PgBouncer). Others are passed to libpq. connect() opens the first connection, so that a
/// wrong address fails here, and does not retry. Throws invalid_url, connection_failed,
/// backend_missing, pooler_detected, invalid_schema_name, invalid_argument.
[[nodiscard]] PAWL_EXPORT Store connect(std::string_view url, ConnectOptions options = {});

}  // namespace pawl::inline v0
