// The store: one SQLite file or one schema of a PostgreSQL database, with everything pawl keeps.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <pawl/error.h>
#include <pawl/flow.h>
#include <pawl/outbox.h>
#include <pawl/queue.h>
#include <pawl/retention.h>
#include <pawl/run.h>
#include <pawl/schedule.h>
#include <pawl/stats.h>
#include <pawl/worker_info.h>
#include <pawl/workflow.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

namespace engine {
class WorkerWatch;
}

enum class LogLevel { debug, info, warning, error };
[[nodiscard]] std::string_view to_string(LogLevel level);
/// Called from any thread, one call at a time. Must not call back into the store.
using LogHook = std::function<void(LogLevel, std::string_view message)>;
/// Writes lines of level info and above to standard error, with the time: the default. The
/// environment variable PAWL_LOG changes the level: debug, info, warning, error or off.
void log_to_stderr(LogLevel level, std::string_view message);

struct ConnectOptions {
    Duration lease = 30s;      ///< for queues and workers that name none
    Duration heartbeat = 10s;  ///< how often a worker extends what it holds
    /// For each connection, the server's first answer included; each host of a URL gets all of it.
    Duration connect_timeout = 10s;
    Duration retry_timeout = 30s;  ///< how long a call keeps trying while the database is away
    /// How long a worker's call waits for PostgreSQL's answer before the connection counts as lost;
    /// heartbeats wait for a lease's time at most. A commit cut off so is in doubt, and repeated as
    /// such. Other calls may take as long as they need.
    Duration call_timeout = 30s;
    /// How long enqueue, trigger and publish wait for PostgreSQL's answer. Then they throw
    /// connection_failed with in_doubt(): the call may have been done. A trigger with an
    /// idempotency key is repeated, up to retry_timeout. Large batches may need more.
    Duration producer_timeout = std::chrono::minutes(1);
    Duration pause_check_interval = std::chrono::hours(1);  ///< for pauses that name none
    /// How often a waiting call or an idle worker checks the store if no wake-up arrives. Wake-ups
    /// normally arrive within milliseconds, so this only bounds the delay after a lost one.
    Duration poll_interval = 5s;
    /// Of messages, inputs, and outputs of steps and runs.
    std::size_t max_payload_bytes = 1 << 20;
    LogHook log = log_to_stderr;     ///< nullptr: silence
    bool accept_test_clock = false;  ///< lets workers run on a clock that a test has replaced
    /// How often workers prune what retention lets go, one of all at a time; 0: those of this
    /// process never do.
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
[[nodiscard]] std::string to_string(const LostWork& lost);

/// What verify() found. If both lists are empty, the schema is what this version of the
/// library defines, and no work is lost.
struct SchemaReport {
    int version = 0;                       ///< of the database; 0: not installed
    std::vector<std::string> problems;     ///< "index messages_ready is missing", ...
    std::vector<LostWork> lost_work = {};  ///< store.repair() restores it
    [[nodiscard]] bool ok() const { return problems.empty() && lost_work.empty(); }
};

/// What install() did.
struct InstallReport {
    int from_version = 0;               ///< before the call; 0: not installed
    int version = 0;                    ///< after the call
    std::vector<std::string> repaired;  ///< "index messages_ready is missing: restored", ...
    std::vector<std::string> problems;  ///< what it could not repair, and why
    [[nodiscard]] bool ok() const { return problems.empty(); }
};

/// Names of another product over the functions of a store: `pgflow` is docs/pgflow.md.
enum class Compat { pgflow };

/// What a store was opened with.
struct StoreInfo {
    std::string url;      ///< with *** instead of a password
    std::string backend;  ///< "sqlite" or "postgresql"
    std::string schema;   ///< the tenant; "pawl" unless the URL names another
    ConnectOptions options;
};

enum class DeleteMode { if_empty, force };

/// A store among those that share a PostgreSQL database, each in a schema of its own, or that lie
/// beside each other as SQLite files: app.db, app.tenant_a.db. See docs/tenants.md.
struct Tenant {
    std::string name;        ///< what `?schema=` names; without it, `pawl`
    int schema_version = 0;  ///< may be another one than this library's
};

/// A copyable, thread-safe handle. The last copy closes the connections.
class Store {
public:
    explicit Store(std::shared_ptr<seam::Backend> backend);

    /// Reads nothing from the database.
    [[nodiscard]] StoreInfo info() const;

    /// Creates or upgrades the schema, and restores indexes, functions, views, constraints and
    /// settings that are missing or different. Tables and columns that were dropped are not
    /// restored, because their data are lost: they are reported as problems. Repairs and problems
    /// are logged as warnings too. Idempotent; safe from several processes at once and while
    /// workers run. Throws schema_too_new if the database was written by a newer pawl.
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

    /// The tenants that are installed and that we may read, by name. This store need not be one.
    [[nodiscard]] std::vector<Tenant> tenants() const;
    /// Another tenant, with the URL's other parameters and the options of this store, but
    /// connections of its own; install() makes it. Throws invalid_schema_name, connection_failed.
    [[nodiscard]] Store tenant(const std::string& name) const;

    /// Creates the queue or changes the options given. Names: 1 to 128 characters out of letters,
    /// digits, '_', '-', '.', ':', not starting with '.'.
    Queue create_queue(const std::string& name, const QueueOptions& options = {}) const;
    [[nodiscard]] Queue queue(std::string name) const;
    [[nodiscard]] std::vector<QueueInfo> queues() const;
    /// Its archive goes with it. if_empty: throws queue_not_empty while live messages or dead
    /// letters are there.
    void delete_queue(const std::string& name, DeleteMode mode = DeleteMode::if_empty) const;

    // --- workflows ---
    /// Creates the workflow and its queue, or changes the options given. Names as of queues. Of a
    /// flow it may change dead_letter_workflow, audit and publish.
    WorkflowInfo create_workflow(const std::string& name, const WorkflowOptions& options = {})
        const;
    [[nodiscard]] std::vector<WorkflowInfo> workflows() const;
    [[nodiscard]] WorkflowInfo workflow(const std::string& name) const;
    /// With its finished runs. Throws workflow_has_runs while live ones exist.
    void delete_workflow(const std::string& name) const;

    // --- flows (see pawl/flow.h, whose builder does these in one go) ---
    /// Creates the flow and its queue, or changes the options given.
    void create_flow(const std::string& slug, const FlowOptions& options = {}) const;
    /// Adding the same step again changes nothing; a different one of that name is refused
    /// (flow_mismatch). Throws flow_not_found, invalid_argument.
    void add_step(const std::string& flow, const FlowStep& step) const;
    /// As it is stored. Throws flow_not_found.
    [[nodiscard]] FlowShape get_flow_shape(const std::string& slug) const;
    /// Creates the flow, or finds it the same; a different one is refused (flow_mismatch). If the
    /// answer was lost and the call is repeated, the flow that it created is found: `same`.
    EnsuredFlow ensure_flow(const FlowShape& shape, EnsureMode mode = EnsureMode::refuse_different)
        const;
    /// With its runs; if_empty: throws workflow_has_runs while live ones exist.
    void delete_flow_and_data(const std::string& slug, DeleteMode mode = DeleteMode::if_empty)
        const;
    [[nodiscard]] std::vector<TaskInfo> tasks(RunId run) const;  ///< by step, then index
    /// Starts up to `qty` tasks and hands them out, without a worker. `vt`: the lease of tasks that
    /// have no timeout.
    [[nodiscard]] std::vector<Task> poll_for_tasks(
        const std::string& flow, int qty = 1, Duration vt = 30s
    ) const;
    /// The task has succeeded; what depends on it may start. With the delivery it is fenced:
    /// without (0), the first report wins.
    /// If the answer is lost the report is repeated, and is `done` if it had been recorded.
    TaskOutcome complete_task(const TaskRef& task, const Json& output, int delivery = 0) const;
    /// An attempt has failed: again after the backoff, or, with all attempts used, the task fails.
    /// Without the delivery a lost answer is not repeated but in_doubt(): the next attempt may be
    /// under way.
    TaskOutcome fail_task(const TaskRef& task, const std::string& error, int delivery = 0) const;

    // --- runs; all throw run_not_found ---
    [[nodiscard]] Run run(RunId id) const { return {backend_, id}; }
    [[nodiscard]] RunInfo get_run(RunId id) const;
    [[nodiscard]] std::vector<RunInfo> runs(const RunFilter& filter = {}, const RunPage& page = {})
        const;
    /// Each count stops at `limit` (1 to 1,000,000) and says so.
    [[nodiscard]] RunCounts count_runs(const RunFilter& filter = {}, std::int64_t limit = 10'000)
        const;
    [[nodiscard]] std::vector<StepInfo> steps(RunId run) const;  ///< in the order of the run
    [[nodiscard]] StepInfo step(RunId run, const std::string& id) const;  ///< step_not_found
    [[nodiscard]] std::vector<RunEvent> events(RunId run) const;
    /// The run's story in the order of time, each thing once: what its rows show and what only
    /// events tell any more. See WorkflowOptions::audit for how much that is.
    [[nodiscard]] std::vector<HistoryEntry> history(RunId run) const;
    /// The run with all it was retried or forked from, and all that was made from these, by id.
    [[nodiscard]] std::vector<RunInfo> lineage(RunId run) const;

    /// Gives the step at which the run waits its result and lets the run continue. The first
    /// resume wins. Throws run_finished, step_finished; step_not_waiting if the run does not wait
    /// at the step, unless ResumeOptions::early is set; invalid_argument for a step that sleeps or
    /// waits for another run. If the run cannot decode the data, the step is paused again and can
    /// be resumed again (docs/workflows.md).
    void resume(
        RunId run, const std::string& step, const Json& data = {}, const ResumeOptions& options = {}
    ) const;
    template <class T>
    void resume(
        RunId run, const std::string& step, const T& data, const ResumeOptions& options = {}
    ) const {
        resume(run, step, JsonCodec<T>::encode(data), options);
    }
    /// On return the run is CANCELLED and nothing more of it is recorded; a worker in it is told.
    /// Throws run_finished.
    void cancel(RunId run, const std::string& reason) const;
    /// Lets a waiting run (delayed, retrying, paused) be taken up now. A sleep that is not over
    /// goes on sleeping. No effect on one that is ready or in a worker's hands.
    void wake(RunId run) const;
    /// A new run, linked to a failed or cancelled one, that takes its finished steps over. Throws
    /// run_not_failed.
    Run retry(RunId run) const;
    /// A new run from any run, which takes over only the finished steps before `from_step`. Throws
    /// step_not_found.
    Run fork(RunId run, const std::string& from_step) const;
    /// Soft: a live run is cancelled, the run is hidden from lists, its idempotency key is free.
    void delete_run(RunId run, const std::string& reason) const;

    // --- schedules (see pawl/schedule.h) ---
    /// Creates the schedule, or changes what is given of an existing one; where its times change,
    /// the next is counted from now. Throws workflow_not_found, invalid_argument (points at the
    /// field).
    ScheduleInfo schedule(
        const std::string& name,
        const std::string& workflow,
        const std::string& cron,
        const Json& params = {},
        const ScheduleOptions& options = {}
    ) const;
    template <class T>
    ScheduleInfo schedule(
        const std::string& name,
        const std::string& workflow,
        const std::string& cron,
        const T& params,
        const ScheduleOptions& options = {}
    ) const {
        return schedule(name, workflow, cron, JsonCodec<T>::encode(params), options);
    }
    [[nodiscard]] std::vector<ScheduleInfo> schedules() const;  ///< by name
    /// This and the next four throw schedule_not_found.
    [[nodiscard]] ScheduleInfo get_schedule(const std::string& name) const;
    void pause_schedule(const std::string& name) const;   ///< fires no more until resumed
    void resume_schedule(const std::string& name) const;  ///< what was missed is not caught up
    Run run_schedule_now(const std::string& name) const;  ///< one run more, beside its times
    void delete_schedule(const std::string& name) const;  ///< its runs stay

    // --- outbox (see pawl/outbox.h) ---
    /// Returns the event's id after the commit.
    std::string publish(const NewOutboxEvent& event) const;
    /// Inside the caller's own open transaction.
    std::string publish_in(Transaction transaction, const NewOutboxEvent& event) const;
    [[nodiscard]] std::vector<OutboxEvent> outbox(const OutboxFilter& filter = {}) const;
    /// Parked events are tried again: one, or (0) all. Throws outbox_event_not_found.
    std::int64_t retry_parked(std::int64_t id = 0) const;

    // --- retention (see pawl/retention.h) ---
    /// Replaces the policy of that kind for the workflow or queue named; Keep{} keeps its things
    /// forever. The name all_names ("*") sets the policy of every workflow or queue that has none
    /// of its own; there Keep{} removes it. Throws workflow_not_found, queue_not_found,
    /// workflow_queue, invalid_argument.
    void set_retention(RetentionKind kind, const std::string& name, const Keep& keep) const;
    /// The same for what is of the whole store: outbox, deleted, workers.
    void set_retention(RetentionKind kind, const Keep& keep) const;
    /// Removes a policy: the one for all applies then, if there is one.
    void clear_retention(RetentionKind kind, const std::string& name = "") const;
    [[nodiscard]] std::vector<RetentionPolicy> retention() const;  ///< by name, then kind
    /// Removes what the policies let go, now, in short transactions with pauses in between. Safe
    /// beside workers and other pruners; where it is interrupted, the next one goes on.
    PruneReport prune(const PruneOptions& options = {}) const;

    // --- workers ---
    [[nodiscard]] std::vector<WorkerInfo> workers() const;
    [[nodiscard]] WorkerInfo worker(WorkerId id) const;
    /// Moves a worker, of any process. It is notified and obeys immediately, or at its next
    /// heartbeat if it does not listen. Throws invalid_transition.
    void transition_worker(WorkerId id, WorkerEvent event) const;
    /// Forgets stopped and lost workers last heard of longer ago than that; returns how many.
    std::int64_t purge_workers(Duration older_than) const;
    /// Forgets one worker, which must have stopped or be lost. Throws worker_not_found,
    /// invalid_transition.
    void delete_worker(WorkerId id) const;
    /// The messages that a worker holds, runs and tasks included, by id. None for an unknown
    /// worker.
    [[nodiscard]] std::vector<Message> held_messages(WorkerId id, const PageRequest& page = {})
        const;

    [[nodiscard]] StoreStats stats() const;
    [[nodiscard]] std::vector<QueueStats> queue_stats() const;
    [[nodiscard]] Timestamp now() const;  ///< the database's clock

    [[nodiscard]] const std::shared_ptr<seam::Backend>& backend() const { return backend_; }
    [[nodiscard]] engine::WorkerWatch& worker_watch() const { return *worker_watch_; }

private:
    std::shared_ptr<seam::Backend> backend_;
    std::shared_ptr<engine::WorkerWatch> worker_watch_;
};

/// Opens a store:
///   sqlite:path/to/file.db   sqlite::memory:   postgresql://user@host/db   postgres://...
/// Parameters: schema (a tenant, default pawl: see docs/tenants.md), synchronous (SQLite: full,
/// normal), busy_timeout (SQLite, milliseconds), max_connections, pooler=transaction (PostgreSQL
/// behind PgBouncer); others go to libpq. The first connection is made here, so that a wrong
/// address fails at once.
[[nodiscard]] Store connect(const std::string& url, ConnectOptions options = {});

}  // namespace pawl
