// Definitions, actions and look-ups that the API forwards, by aggregate. Queues, workflows, runs
// and workers are the core of every store; the other parts answer `unsupported` until a store has
// them.
#pragma once

#include <optional>
#include <pawl/store.h>
#include <span>
#include <string>
#include <vector>

#include "seam/engine.h"
#include "seam/unsupported.h"
#include "seam/write.h"

namespace pawl::seam {

// Payloads and options are checked by the caller (api).
class Queues {
public:
    virtual ~Queues() = default;
    virtual std::vector<MessageId> enqueue(
        const std::string& queue, std::span<const NewMessage> messages
    ) = 0;
    virtual std::vector<MessageId> enqueue_in(
        Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
    ) = 0;
    virtual void create_queue(const std::string& name, const QueueOptions& options) = 0;
    virtual void delete_queue(const std::string& name, DeleteMode mode) = 0;
    virtual void set_queue_paused(const std::string& name, bool paused) = 0;
    virtual std::int64_t purge_queue(const std::string& name) = 0;
    virtual std::optional<QueueInfo> find_queue(const std::string& name) = 0;

    // --- messages; all throw queue_not_found ---
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
};

// What became of a trigger. Not created: the idempotency key had been used, this is that run.
struct Triggered {
    RunId run;
    bool created = true;
};

class Workflows {
public:
    virtual ~Workflows() = default;
    virtual void create_workflow(const std::string& name, const WorkflowOptions& options) = 0;
    // With its queue and its finished runs. Throws workflow_not_found, workflow_has_runs.
    virtual void delete_workflow(const std::string& name) = 0;
    // Inputs and options are checked by the caller (api). All or nothing; throws
    // workflow_not_found.
    virtual std::vector<Triggered> trigger(std::span<const NewRun> runs) = 0;
    virtual std::vector<Triggered> trigger_in(
        Transaction transaction, std::span<const NewRun> runs
    ) = 0;
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

class Runs {
public:
    virtual ~Runs() = default;
    virtual std::optional<RunInfo> find_run(RunId run) = 0;  // soft-deleted ones too
    virtual std::optional<RunEnd> find_end(RunId run) = 0;   // the same run, with less work
    // Empty for an unknown run; so are the next two.
    virtual std::vector<StepInfo> steps(RunId run) = 0;
    virtual std::vector<RunEvent> events(RunId run) = 0;
    virtual std::vector<RunInfo> lineage(RunId run) = 0;
    // All throw run_not_found (for soft-deleted ones run_deleted), and what Store says.
    virtual void resume(
        RunId run, const std::string& step, const Json& data, const ResumeOptions& options
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
};

class Workers {
public:
    virtual ~Workers() = default;
    virtual std::vector<WorkerInfo> workers(std::optional<WorkerId> only) = 0;
    virtual std::int64_t purge_workers(Duration older_than) = 0;
    // Throws worker_not_found, invalid_transition.
    virtual void delete_worker(WorkerId worker) = 0;
    virtual std::vector<Message> held_messages(WorkerId worker, const PageRequest& page) = 0;
};

// Values are checked by the caller (model/flow.h) as far as SQL does not check them anyway.
class Flows {
public:
    virtual ~Flows() = default;
    virtual void create_flow(const std::string& /*slug*/, const FlowOptions& /*options*/) {
        unsupported("flows");
    }
    // Throws flow_not_found, flow_mismatch, invalid_argument (an unknown dependency, ...).
    virtual void add_step(const std::string& /*flow*/, const FlowStep& /*step*/) {
        unsupported("flows");
    }
    // create_flow and all add_steps, in one transaction.
    virtual void create_flow_shape(const FlowShape& /*shape*/) { unsupported("flows"); }
    virtual EnsuredFlow ensure_flow(const FlowShape& /*shape*/, EnsureMode /*mode*/) {
        unsupported("flows");
    }
    // Throws flow_not_found, workflow_has_runs.
    virtual void delete_flow(const std::string& /*slug*/, DeleteMode /*mode*/) {
        unsupported("flows");
    }
    virtual std::vector<TaskInfo> tasks(RunId /*run*/) { return {}; }  // empty for an unknown run
    // By hand. Delivery 0: not fenced, the first report wins. They wait for locks.
    virtual TaskOutcome complete_task(
        const TaskRef& /*task*/, const Json& /*output*/, int /*delivery*/
    ) {
        unsupported("flows");
    }
    virtual TaskOutcome fail_task(
        const TaskRef& /*task*/, const std::string& /*error*/, int /*delivery*/
    ) {
        unsupported("flows");
    }
};

class Schedules {
public:
    virtual ~Schedules() = default;
    virtual std::vector<StoredSchedule> schedules(const std::optional<std::string>& /*only*/) {
        return {};
    }
    // Inserts (id 0) or updates. False: the name exists already, or the version is not the one
    // named. Throws workflow_not_found.
    virtual bool save_schedule(const StoredSchedule& /*schedule*/) { unsupported("schedules"); }
    // Throws schedule_not_found.
    virtual void delete_schedule(const std::string& /*name*/) { unsupported("schedules"); }
};

class Outbox {
public:
    virtual ~Outbox() = default;
    virtual void publish(std::span<const OutboxRecord> /*events*/) { unsupported("the outbox"); }
    virtual void publish_in(
        Transaction /*transaction*/, std::span<const OutboxRecord> /*events*/
    ) {
        unsupported("the outbox");
    }
    virtual std::vector<OutboxEvent> list_outbox(const OutboxFilter& /*filter*/) {
        unsupported("the outbox");
    }
    // 0: all. Returns how many.
    virtual std::int64_t retry_parked(std::int64_t /*id*/) { unsupported("the outbox"); }
};

// What the caller (model/check_retention.h) has checked.
class Retention {
public:
    virtual ~Retention() = default;
    // Throws workflow_not_found, queue_not_found, workflow_queue.
    virtual void set_retention(
        RetentionKind /*kind*/, const std::string& /*name*/, const Keep& /*keep*/
    ) {
        unsupported("retention");
    }
    virtual void clear_retention(RetentionKind /*kind*/, const std::string& /*name*/) {
        unsupported("retention");
    }
    virtual std::vector<RetentionPolicy> retention() { return {}; }
};

class Catalogue : public Queues,
                  public Workflows,
                  public Runs,
                  public Workers,
                  public Flows,
                  public Schedules,
                  public Outbox,
                  public Retention {};

}  // namespace pawl::seam
