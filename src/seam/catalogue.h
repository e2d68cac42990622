// Definitions, actions and lookups that the API forwards, by aggregate. Every store has queues,
// workflows, runs and workers; a store that lacks another part throws `unsupported`.
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

// A claim of a queue that was found by its name.
struct Dequeued {
    QueueId queue;
    Claim claim;
};

// The caller (api) has checked payloads and options.
class Queues {
public:
    virtual ~Queues() = default;
    virtual std::vector<MessageId> enqueue(
        const std::string& queue, std::span<const NewMessage> messages
    ) = 0;
    virtual std::vector<MessageId> enqueue_in(
        Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
    ) = 0;
    // Up to `max_messages` of a plain queue. Throws queue_not_found, workflow_queue.
    virtual Dequeued dequeue(
        const std::string& queue, int max_messages, std::optional<Duration> lease
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
    // Id 0 means every dead letter of the queue. Returns the number replayed.
    virtual std::int64_t replay(const std::string& queue, MessageId id) = 0;
    virtual std::int64_t purge_archive(const std::string& queue, ArchiveFilter filter) = 0;
};

// The result of a trigger. If not created, `run` is the run that used the idempotency key before.
struct Triggered {
    RunId run;
    bool created = true;
};

class Workflows {
public:
    virtual ~Workflows() = default;
    virtual void create_workflow(const std::string& name, const WorkflowOptions& options) = 0;
    // Deletes its queue and its finished runs too. Throws workflow_not_found, workflow_has_runs.
    virtual void delete_workflow(const std::string& name) = 0;
    // The caller (api) has checked inputs and options. All or nothing. Throws workflow_not_found.
    virtual std::vector<Triggered> trigger(std::span<const NewRun> runs) = 0;
    virtual std::vector<Triggered> trigger_in(
        Transaction transaction, std::span<const NewRun> runs
    ) = 0;
};

// Position in a search of the live runs for lost work.
struct LostPosition {
    QueueId workflow;
    RunId run;
};
struct LostPage {
    int looked = 0;  // live runs searched; fewer than requested at the end
    std::vector<LostWork> lost;
    LostPosition last;
};

class Runs {
public:
    virtual ~Runs() = default;
    virtual std::optional<RunInfo> find_run(RunId run) = 0;  // also if soft-deleted
    virtual std::optional<RunEnd> find_end(RunId run) = 0;   // a cheaper read of the same run
    // Empty for an unknown run, like the next two.
    virtual std::vector<StepInfo> steps(RunId run) = 0;
    virtual std::vector<RunEvent> events(RunId run) = 0;
    virtual std::vector<RunInfo> lineage(RunId run) = 0;
    // The following throw run_not_found (run_deleted if soft-deleted) and what Store documents.
    virtual void resume(
        RunId run, const std::string& step, const Json& data, const ResumeOptions& options
    ) = 0;
    virtual void cancel(RunId run, const std::string& reason) = 0;
    virtual void wake(RunId run) = 0;
    virtual RunId retry(RunId run) = 0;
    virtual RunId fork(RunId run, const std::string& from_step) = 0;
    virtual void delete_run(RunId run, const std::string& reason) = 0;

    // Searches the next `max_runs` live runs for runs and open tasks of flows without a message.
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

// The caller has checked the values (model/flow.h) that SQL does not check.
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
    // For reports by hand. Delivery 0 is not fenced: the first report wins. They wait for locks.
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
    // Inserts (id 0) or updates. Returns false if the name exists already or the version is stale.
    // Throws workflow_not_found.
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
    // Id 0 means all. Returns the number of events.
    virtual std::int64_t retry_parked(std::int64_t /*id*/) { unsupported("the outbox"); }
};

// The caller has checked the values (model/check_retention.h).
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
