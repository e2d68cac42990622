// A store over named statements in SQLite's dialect, with one writer at a time. A driver derives
// from it and implements sessions, transactions, the schema and wake-ups. The operations are in
// store_*.cpp, one file per aggregate.
#pragma once

#include <atomic>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/function_ref.h"
#include "rowstore/commit/calls.h"
#include "rowstore/commit/pending_wakeups.h"
#include "rowstore/commit/write_scope.h"
#include "rowstore/store/store_clock.h"
#include "seam/backend.h"

namespace pawl::rowstore {

class RowStore : public seam::Backend {
public:
    using seam::Backend::Backend;

    std::int64_t restored() override;
    Timestamp now() override;
    void set_test_clock(std::optional<Timestamp> now) override;
    bool has_test_clock() override;

    seam::Claim claim(const seam::ClaimRequest& request) override;
    std::vector<seam::WriteOutcome> commit(seam::Writes writes, seam::Attempt attempt) override;
    using Engine::commit;
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
    bool has_news(seam::WorkerView& view) override;
    std::vector<WorkerInfo> workers(std::optional<WorkerId> only) override;
    std::int64_t purge_workers(Duration older_than) override;
    void delete_worker(WorkerId worker) override;
    std::vector<Message> held_messages(WorkerId worker, const PageRequest& page) override;

    StoreStats stats() override;
    seam::Backlog backlog(std::span<const std::string> queues) override;

protected:
    using Work = base::FunctionRef<void(Session&)>;

    // --- implemented by a driver ---
    // `work` sees one snapshot of the database.
    virtual void run_read(Work work) = 0;
    // One transaction with the write lock: durable when it returns, rolled back if it throws.
    virtual void run_write(Work work) = 0;
    // A part of the user's transaction, rolled back if it throws. Errors name `call`.
    virtual void run_in(const Transaction& transaction, std::string_view call, Work work) = 0;
    // Throws not_installed, schema_too_old, schema_too_new.
    virtual void require_schema(Session& session) = 0;
    // Changes with each commit of another connection, but not with commits of this store.
    [[nodiscard]] virtual std::int64_t version_of_others() = 0;

    // The database was replaced by another one.
    void forget_database();
    // Another process may have written anything.
    void wake_all();
    void note_installed() { schema_checked_ = true; }
    [[nodiscard]] seam::WakeHub& hub() { return hub_; }
    [[nodiscard]] seam::RunWakeups& signals() { return signals_; }

private:
    template <class Call>
    auto read(Call&& call) {
        using Result = decltype(call(std::declval<Session&>()));
        if constexpr (std::is_void_v<Result>) {
            run_read([&](Session& session) {
                check_schema(session);
                call(session);
            });
        } else {
            std::optional<Result> result;
            run_read([&](Session& session) {
                check_schema(session);
                result.emplace(call(session));
            });
            return std::move(*result);
        }
    }

    // For a transaction that announces no queries.
    struct Nothing {
        void operator()(Session& /*session*/) const {}
    };

    // `call(session, now)`. The first request, which reads the clock, also carries the queries that
    // `announce(session)` prefetches.
    template <class Call, class Announce = Nothing>
    auto write(Call&& call, Announce&& announce = {}) {
        using Result = decltype(call(std::declval<Session&>(), Timestamp()));
        const auto begin = [&](Session& session) {
            check_schema(session);
            announce(session);
            return begin_write(session);
        };
        if constexpr (std::is_void_v<Result>) {
            run_write([&](Session& session) { call(session, begin(session)); });
        } else {
            std::optional<Result> result;
            run_write([&](Session& session) { result.emplace(call(session, begin(session))); });
            return std::move(*result);
        }
    }

    // A write in which runs may start, continue or end: `work(scope)`. Callers get their results in
    // the transaction; waiters and workers are notified after it.
    template <class Work, class Announce = Nothing>
    auto change(Work&& work, Announce&& announce = {}) {
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
            write(in_scope, announce);
            wake(wakeups);
        } else {
            auto result = write(in_scope, announce);
            wake(wakeups);
            return result;
        }
    }

    // Returns the time of the transaction.
    [[nodiscard]] Timestamp begin_write(Session& session);
    // Only a positive result is remembered, so another process may install the schema in the
    // meantime.
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
        seam::Writes writes,
        Range range,
        seam::Attempt attempt,
        std::vector<seam::WriteOutcome>& outcomes,
        bool& committed
    );
    [[nodiscard]] std::optional<seam::Claim> claim_if_idle(const seam::ClaimRequest& request);
    void wake(const PendingWakeups& wakeups);

    std::atomic<bool> schema_checked_ = false;
    std::atomic<bool> flow_plans_stale_ = false;
    seam::WakeHub hub_;
    seam::RunWakeups signals_;
    std::atomic<bool> last_claim_was_full_ = false;
    FlowPlans flow_plans_;  // used by the current writer
};

// Whether the statement was refused because of its data, or calls a workflow that does not exist.
// All other errors (locks, the disk, the file) would affect any statement.
[[nodiscard]] bool concerns_one_statement(const Error& error);
// Throws queue_not_found.
[[nodiscard]] QueueId require_queue(Session& session, const std::string& name);
struct RunState;
// Whether a live run, or an open task of it, has no message.
[[nodiscard]] bool is_lost(Session& session, const RunState& run);
// Throws workflow_has_runs.
void refuse_live_runs(Session& session, const std::string& name, QueueId workflow, QueueKind kind);
// Deletes a workflow or flow with its queue and its ended runs.
void delete_workflow_rows(Session& session, QueueId workflow);
// For operations that would break runs: also throws workflow_queue.
[[nodiscard]] QueueId require_plain_queue(Session& session, const std::string& name);

}  // namespace pawl::rowstore
