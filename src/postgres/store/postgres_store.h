// The PostgreSQL store: every operation is a call of a function in the schema
// (sql/postgres/functions).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "postgres/batch/commit_batch.h"
#include "postgres/driver/listener.h"
#include "postgres/driver/notifier.h"
#include "postgres/driver/pool.h"
#include "seam/backend.h"

namespace pawl::postgres {

class PostgresStore final : public seam::Backend {
public:
    PostgresStore(PostgresTarget target, ConnectOptions options, base::Log log);

    [[nodiscard]] StoreInfo info() const override;
    InstallReport install() override;
    void install_compat(Compat compat) override;
    SchemaReport verify() override;
    std::int64_t restored() override;
    std::vector<Tenant> tenants() override;
    std::shared_ptr<seam::Backend> open_tenant(const std::string& name) override;
    Timestamp now() override;
    void set_test_clock(std::optional<Timestamp> now) override;
    bool has_test_clock() override;

    seam::Claim claim(const seam::ClaimRequest& request) override;
    std::vector<seam::WriteOutcome> commit(seam::Writes writes, seam::Attempt attempt) override;
    using Engine::commit;
    std::vector<Lease> leases_of(WorkerId worker, std::span<const QueueId> queues) override;
    seam::HeartbeatResult heartbeat(WorkerId worker, std::span<const seam::Write> extensions)
        override;

    std::vector<MessageId> enqueue(const std::string& queue, std::span<const NewMessage> messages)
        override;
    std::vector<MessageId> enqueue_in(
        Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
    ) override;

    seam::Dequeued dequeue(
        const std::string& queue, int max_messages, std::optional<Duration> lease
    ) override;
    void create_queue(const std::string& name, const QueueOptions& options) override;
    void delete_queue(const std::string& name, DeleteMode mode) override;
    void set_queue_paused(const std::string& name, bool paused) override;
    std::int64_t purge_queue(const std::string& name) override;
    std::vector<QueueInfo> queues() override;
    std::optional<QueueInfo> find_queue(const std::string& name) override;
    std::vector<QueueId> resolve_queues(std::span<const std::string> names) override;
    std::vector<QueueStats> queue_stats(
        const std::optional<std::string>& only, std::int64_t archived
    ) override;

    std::optional<Message> find_message(const std::string& queue, MessageId id) override;
    std::vector<Message> list_messages(
        const std::string& queue, MessageState state, const PageRequest& page
    ) override;
    std::vector<ArchivedMessage> list_archive(
        const std::string& queue, ArchiveFilter filter, const PageRequest& page
    ) override;
    std::int64_t replay(const std::string& queue, MessageId id) override;
    std::int64_t purge_archive(const std::string& queue, ArchiveFilter filter) override;

    void create_workflow(const std::string& name, const WorkflowOptions& options) override;
    void delete_workflow(const std::string& name) override;
    std::vector<WorkflowInfo> workflows(const std::optional<std::string>& only) override;
    std::vector<WorkflowInfo> workflows_named(std::span<const std::string> names) override;
    WorkflowMetrics workflow_metrics(const std::string& name, Duration window) override;
    bool has_live_handler(const std::string& workflow) override;
    std::vector<RunId> fail_unhandled(std::span<const std::string> prefixes) override;

    void create_flow(const std::string& slug, const FlowOptions& options) override;
    void add_step(const std::string& flow, const FlowStep& step) override;
    void create_flow_shape(const FlowShape& shape) override;
    EnsuredFlow ensure_flow(const FlowShape& shape, EnsureMode mode) override;
    std::optional<FlowShape> flow_shape(const std::string& slug) override;
    void delete_flow(const std::string& slug, DeleteMode mode) override;
    std::vector<TaskInfo> tasks(RunId run) override;
    TaskOutcome complete_task(const TaskRef& task, const Json& output, int delivery) override;
    TaskOutcome fail_task(const TaskRef& task, const std::string& error, int delivery) override;

    std::vector<seam::Triggered> trigger(std::span<const NewRun> runs) override;
    std::vector<seam::Triggered> trigger_in(Transaction transaction, std::span<const NewRun> runs)
        override;

    std::optional<RunInfo> find_run(RunId run) override;
    std::optional<seam::RunEnd> find_end(RunId run) override;
    std::vector<RunInfo> list_runs(const RunFilter& filter, const RunPage& page) override;
    RunCounts count_runs(const RunFilter& filter, std::int64_t limit) override;
    std::vector<StepInfo> steps(RunId run) override;
    std::vector<seam::ReplayStep> recorded_steps(RunId run) override;
    std::vector<RunEvent> events(RunId run) override;
    std::vector<RunInfo> lineage(RunId run) override;
    void resume(RunId run, const std::string& step, const Json& data, const ResumeOptions& options)
        override;
    seam::Rejection reject_resume(
        const Lease& lease,
        const std::string& step,
        const std::string& message,
        Duration check_after
    ) override;
    void cancel(RunId run, const std::string& reason) override;
    void wake(RunId run) override;
    RunId retry(RunId run) override;
    RunId fork(RunId run, const std::string& from_step) override;
    void delete_run(RunId run, const std::string& reason) override;
    seam::LostPage find_lost_work(const seam::LostPosition& after, int max_runs) override;
    std::vector<LostWork> repair() override;

    std::vector<seam::StoredSchedule> schedules(const std::optional<std::string>& only) override;
    bool save_schedule(const seam::StoredSchedule& schedule) override;
    void delete_schedule(const std::string& name) override;
    seam::DueSchedules due_schedules(int limit) override;
    bool fire_schedule(const seam::ScheduleFire& fire) override;

    void publish(std::span<const seam::OutboxRecord> events) override;
    void publish_in(Transaction transaction, std::span<const seam::OutboxRecord> events) override;
    std::vector<OutboxEvent> list_outbox(const OutboxFilter& filter) override;
    seam::OutboxClaim claim_outbox(int limit, int per_aggregate, Duration lease) override;
    std::vector<seam::WriteStatus> report_outbox(std::span<const seam::OutboxReport> reports
    ) override;
    std::int64_t retry_parked(std::int64_t id) override;

    void set_retention(RetentionKind kind, const std::string& name, const Keep& keep) override;
    void clear_retention(RetentionKind kind, const std::string& name) override;
    std::vector<RetentionPolicy> retention() override;
    std::vector<seam::PrunePart> plan_prune() override;
    seam::PrunedBatch prune_batch(const seam::PruneBatch& batch) override;
    seam::PruneGrant claim_prune(Duration interval, seam::PruneTurn turn) override;

    WorkerId register_worker(const seam::NewWorker& worker) override;
    WorkerStatus transition_worker(WorkerId worker, WorkerEvent event) override;
    std::vector<WorkerInfo> workers(std::optional<WorkerId> only) override;
    std::int64_t purge_workers(Duration older_than) override;
    void delete_worker(WorkerId worker) override;
    std::vector<Message> held_messages(WorkerId worker, const PageRequest& page) override;
    StoreStats stats() override;
    seam::Backlog backlog(std::span<const std::string> queues) override;

    seam::WakeHub& wake_hub() override;
    seam::RunWakeups& run_wakeups() override;
    std::optional<seam::RunEnd> announce_waiter(RunId run) override;
    [[nodiscard]] seam::Capabilities capabilities() const override {
        return {.remote_wakeups = target_.pooler != Pooler::transaction, .parallel_commits = 2};
    }

private:
    // Where the last claim of a streaming worker ended: see sql/postgres/functions/queue/claim.sql.
    struct ClaimPosition {
        std::optional<int> floor_priority;
        MessageId floor_message;
        std::optional<Timestamp> looked_at;
        std::optional<Timestamp> swept_at;
        Timestamp floor_since;
    };
    // Where the last claim of the outbox found due events: see outbox/outbox_dispatch.sql.
    struct OutboxPosition {
        std::optional<Timestamp> at;
        std::int64_t id = 0;
        std::chrono::steady_clock::time_point swept_at;  // the last claim without a position
    };

    // Converts refusals of the server to pawl::Error.
    template <class Work>
    auto translated(Work work) {
        try {
            return work();
        } catch (const Refused& refused) {
            throw to_error(refused.error, target_.schema);
        }
    }
    // A connection over which the schema version was checked. Throws not_installed, schema_too_old,
    // schema_too_new.
    Pool::PooledConnection checked(Pool& pool, std::optional<Duration> call_timeout = {});
    void check_schema(Connection& connection);
    Rows call(
        const store::Statement& statement,
        const Params& params,
        IfAnswerLost if_lost,
        std::optional<Duration> timeout = {}
    );
    // For calls of a worker's threads, which must continue if a server does not answer.
    Rows worker_call(
        const store::Statement& statement, const Params& params, IfAnswerLost if_lost
    ) {
        return call(statement, params, if_lost, options().call_timeout);
    }
    // For calls of producers.
    Rows producer_call(const store::Statement& statement, const Params& params) {
        return call(statement, params, IfAnswerLost::doubt, options().producer_timeout);
    }
    // The progress of a batch: if it throws, parts of it may be committed.
    struct Progress {
        CommitSideEffects effects;
        bool committed = false;
    };
    void commit_range(
        Connection& connection,
        seam::Writes writes,
        seam::Attempt attempt,
        std::span<seam::WriteOutcome> outcomes,
        Progress& progress
    );
    void notify_others(
        seam::Writes writes,
        std::span<const seam::WriteOutcome> outcomes,
        const CommitSideEffects& effects
    );
    void notify_waiters(
        seam::Writes writes,
        std::span<const seam::WriteOutcome> outcomes,
        const CommitSideEffects& effects
    );
    void beat(
        Connection& connection, WorkerId worker, bool must_answer, seam::HeartbeatResult& result
    );
    [[nodiscard]] Duration heartbeat_timeout(std::span<const seam::Write> extensions) const;
    ClaimPosition position(const seam::ClaimRequest& request);
    OutboxPosition outbox_position();
    void remember(
        const seam::ClaimRequest& request, const seam::Claim& claim, ClaimPosition position
    );
    // Wakes this process and, after the commit, other processes. Without a topic, all.
    void notify(const std::optional<seam::WakeTopic>& topic, Wake how = Wake::after_commit);
    void listen();  // no-op if it already listens
    SchemaReport inspect(Connection& connection);

    const PostgresTarget target_;
    Pool pool_;
    Pool heartbeat_pool_;
    seam::WakeHub hub_;
    seam::RunWakeups signals_;
    Notifier notifier_;
    std::mutex listener_mutex_;
    std::unique_ptr<Listener> listener_;
    std::mutex positions_mutex_;
    std::map<std::vector<QueueId>, ClaimPosition> positions_;
    OutboxPosition outbox_position_;  // under positions_mutex_
};

}  // namespace pawl::postgres
