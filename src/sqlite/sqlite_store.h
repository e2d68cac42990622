// The store on an SQLite file. The operations stand in store_*.cpp, one file per aggregate.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <type_traits>

#include "sqlite/calls.h"
#include "sqlite/connections.h"
#include "sqlite/file_watch.h"
#include "sqlite/open_sqlite.h"
#include "sqlite/pending_wakeups.h"
#include "sqlite/schema.h"
#include "sqlite/transaction.h"
#include "sqlite/write_scope.h"

namespace pawl::sqlite {

class SqliteStore final : public seam::Backend {
public:
    SqliteStore(const SqliteTarget& target, ConnectOptions options);

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
    std::vector<seam::WriteOutcome> commit(
        std::span<const seam::Write> writes, seam::Attempt attempt
    ) override;
    seam::HeartbeatResult heartbeat(WorkerId worker, std::span<const seam::Write> extensions)
        override;

    std::vector<MessageId> enqueue(const std::string& queue, std::span<const NewMessage> messages)
        override;
    std::vector<MessageId> enqueue_in(
        Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
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
    std::vector<seam::RecordedStep> recorded_steps(RunId run) override;
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
    bool has_news(seam::WorkerView& view) override;
    std::vector<WorkerInfo> workers(std::optional<WorkerId> only) override;
    std::int64_t purge_workers(Duration older_than) override;
    void delete_worker(WorkerId worker) override;
    std::vector<Message> held_messages(WorkerId worker, const PageRequest& page) override;

    StoreStats stats() override;
    seam::Backlog backlog(std::span<const std::string> queues) override;
    base::WakeHub& wake_hub() override;
    base::RunSignals& run_signals() override;
    std::optional<seam::RunEnd> announce_waiter(RunId run) override;

private:
    // One snapshot: `work(session)` sees one state of the file.
    template <class Work>
    auto read(Work&& work) {
        const auto connection = connections_.reader();
        const ReadTransaction transaction(connection.session());
        check_schema(connection.session());
        return work(connection.session());
    }

    // One transaction: durable when it returns, undone when it throws. `work(session, now)`.
    template <class Work>
    auto write(Work&& work) {
        const auto connection = connections_.writer();
        WriteTransaction transaction(connection.session());
        check_schema(connection.session());
        if (flow_plans_stale_.exchange(false)) flow_plans_ = FlowPlans();
        const Timestamp now = current_time(connection.session());
        if constexpr (std::is_void_v<decltype(work(connection.session(), now))>) {
            work(connection.session(), now);
            transaction.commit();
        } else {
            auto result = work(connection.session(), now);
            transaction.commit();
            return result;
        }
    }

    // A write in which runs may start, go on or end: `work(scope)`. Whoever has to know of it is
    // told, in the transaction (callers) and after it (waiters, workers).
    template <class Work>
    auto change(Work&& work) {
        PendingWakeups wakeups;
        const auto in_scope = [&](Session& session, Timestamp now) {
            WriteScope scope(session, now, flow_plans_);
            const auto finish = [&] {
                settle_ends(scope);
                wakeups = std::move(scope.wakeups);
            };
            if constexpr (std::is_void_v<decltype(work(scope))>) {
                work(scope);
                finish();
            } else {
                auto result = work(scope);
                finish();
                return result;
            }
        };
        if constexpr (std::is_void_v<decltype(work(std::declval<WriteScope&>()))>) {
            write(in_scope);
            wake(wakeups);
        } else {
            auto result = write(in_scope);
            wake(wakeups);
            return result;
        }
    }

    // Only a good answer is remembered, so another process may install meanwhile.
    void check_schema(Session& session) {
        if (schema_checked_.load(std::memory_order_relaxed)) return;
        require_schema(session);
        schema_checked_.store(true, std::memory_order_relaxed);
    }

    struct Range {
        std::size_t begin;
        std::size_t end;
    };
    void commit_range(
        std::span<const seam::Write> writes,
        Range range,
        seam::Attempt attempt,
        std::vector<seam::WriteOutcome>& outcomes,
        bool& committed
    );
    [[nodiscard]] std::optional<seam::Claim> look(const seam::ClaimRequest& request);
    void wake(const PendingWakeups& wakeups);
    void start_watch();
    void forget_file();

    const SqliteTarget target_;
    const std::string tenants_of_;  // absolute: the current folder may be another one later
    std::atomic<bool> schema_checked_ = false;
    std::atomic<bool> flow_plans_stale_ = false;
    base::WakeHub hub_;
    base::RunSignals signals_;
    Connections connections_;  // calls forget_file()
    std::atomic<bool> last_claim_was_full_ = false;
    FlowPlans flow_plans_;  // used by whoever has the writing connection
    std::once_flag watching_;
    std::unique_ptr<FileWatch> watch_;  // last: its thread uses the hub and the signals
};

// Throws queue_not_found.
[[nodiscard]] QueueId require_queue(Session& session, const std::string& name);
// Whether a live run, or an open task of it, has no message.
struct RunState;
[[nodiscard]] bool is_lost(Session& session, const RunState& run);
// Throws workflow_has_runs.
void refuse_live_runs(Session& session, const std::string& name, QueueId workflow);
// With its queue and its runs, which have ended; a flow's too.
void delete_workflow_rows(Session& session, QueueId workflow);
// For what would break runs: throws workflow_queue too.
[[nodiscard]] QueueId require_plain_queue(Session& session, const std::string& name);

}  // namespace pawl::sqlite
