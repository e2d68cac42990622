// What the two hot operations take and give: claims, and batches of writes with an outcome each.
#pragma once

#include <memory>
#include <optional>
#include <pawl/error.h>
#include <pawl/flow.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/run.h>
#include <string>
#include <vector>

#include "base/heap_optional.h"

namespace pawl::seam {

// How strictly a claim keeps to priority and arrival. `streaming` is for a worker that claims again
// and again: it may pass over rows that come in late behind its last claim, for about a second.
enum class Scan { exact, streaming };

// What the queues carry, and so what a claim starts. Flows' queues are claimed by themselves.
enum class Work {
    messages,
    runs,   // some may be workflows': starts their runs, fills Claim::runs
    tasks,  // all are flows': starts their tasks, fills Claim::tasks
};

struct ClaimRequest {
    std::vector<QueueId> queues;
    int max_messages = 1;
    std::optional<Duration> lease;  // none: each queue's, or the store's default
    WorkerId worker;                // none for an anonymous dequeue
    QueueId after;                  // fairness: the queue after which to start looking
    Scan scan = Scan::exact;
    Work work = Work::messages;
    // With Work::tasks and a single flow: only tasks of these steps, in a bounded time however many
    // tasks of other steps are there. Empty: all.
    std::vector<std::string> steps = {};
};

// A step as a replay needs it.
struct RecordedStep {
    std::string id;
    int position = 0;
    StepStatus status = StepStatus::pending;
    int attempt = 0;
    std::string output;  // JSON text of a SUCCESS; else empty
    std::string error;   // JSON text of an ERROR; else empty
    std::optional<Timestamp> wake_at;
};

// What a claim tells about a run besides its message, whose payload is the run's input.
struct ClaimedRun {
    std::optional<int> max_attempts;
    Timestamp started_at;      // the run's first start: maybe this one
    bool steps_loaded = true;  // false: over the claim's byte budget, ask Engine::recorded_steps
    std::vector<RecordedStep> steps;  // of a redelivery, and of a retried or forked run
};

// What a claim tells about a task besides its message, whose payload is the task's input.
struct ClaimedTask {
    TaskRef task;
    int attempts = 1;  // starts, this one included
    int max_attempts = 1;
    std::optional<Duration> timeout;  // none: the task may take as long as its lease is extended
};

// A message of this claim whose last lease ended without a report.
struct TakenOver {
    MessageId message;
    WorkerId from;  // 0: it was dequeued without a worker
};
// A message that the claim did not hand out: it has used up its strikes.
struct Poisoned {
    MessageId message;
    QueueId queue;
    std::string reason;
};

struct Claim {
    std::vector<Message> messages;  // by priority, then arrival; `queue` is left empty,
    std::vector<QueueId> queues;    // for each message its queue's id stands here
    // With Work::runs as many as messages; none for a plain message.
    std::vector<std::optional<ClaimedRun>> runs;
    std::vector<ClaimedTask> tasks;     // with Work::tasks as many as messages
    std::vector<TakenOver> taken_over;  // for the log
    std::vector<Poisoned> poisoned;     // the same
    Timestamp now;                      // the database's clock at the claim
    std::optional<Timestamp> next_due;  // when the next row of these queues becomes claimable by
                                        // time; not after `now`: due ones were left
    QueueId after;                      // for the next request
    bool more =
        false;  // not every queue was looked at (wide subscriptions): claim again before waiting
};

// How many bytes of recorded steps one claim brings along.
inline constexpr std::int64_t claim_step_bytes = 4 << 20;

enum class WriteKind {
    // Of plain messages. A run's or a task's message is only released, handed back or extended;
    // what would take it away is rejected (workflow_queue).
    archive,    // done: to the archive, or gone where the queue keeps none
    remove,     // gone without a trace
    release,    // given back on purpose: strikes 0, visible after `delay`
    hand_back,  // given back unstarted: as if this hand-out had not been
    fail,    // attempts + 1, `reason` kept, visible after `delay`; dead at the queue's max_attempts
    bury,    // a dead letter now, with `reason`
    extend,  // the lease ends `delay` from now
    // Of runs only; `lease` names the run's message, which has the run's id.
    checkpoint,  // records `step` (SUCCESS, ERROR, or RUNNING, which never overwrites a result)
    suspend,     // records `step` (PENDING, PAUSED) where it has an id, sets the run's attempts,
                 // status and `reason` as last_error, and lets the message wait
    finish,      // the run ends: SUCCESS with `output`, or ERROR with `error`; the message is gone
    // Of tasks only; `lease` names the task's message, `task` the task.
    complete_task,  // SUCCESS with `output`; what depends on it starts
    fail_task,      // `reason`; again after `retry_delay` or the flow's backoff, unless `permanent`
                    // or all attempts are used
    delegate_task,  // its work is the run `call`: the task waits, and ends as that run does
};

// What a checkpoint or a suspension records of a step.
struct StepRecord {
    std::string id;
    int position = 0;
    StepStatus status = StepStatus::success;
    int attempt = 1;
    std::optional<std::string> input;   // JSON text
    std::optional<std::string> output;  // JSON text
    std::optional<std::string> error;   // JSON text
    std::string pause_message;
    std::string pause_condition;
    // Of a sleep: when it ends, by the database's clock; or how long it lasts from this commit on.
    std::optional<Timestamp> wake_at;
    bool wake_after_delay = false;  // wake_at becomes the time at which the message is visible
    std::chrono::microseconds elapsed{0};  // since its body began: started_at = now - elapsed
};

// An event as it goes into the outbox.
struct OutboxRecord {
    std::string event_id;  // a UUID
    NewOutboxEvent event;
    RunId run;
};

struct Write {
    WriteKind kind = WriteKind::archive;
    Lease lease;
    Duration delay{0};
    std::string reason;
    // Of a message settled by hand: the queue it must be in. The same for all of a batch.
    std::shared_ptr<const std::string> queue;

    // Of runs.
    RunStatus status = RunStatus::running;  // suspend: RUNNING or PAUSED; finish: SUCCESS or ERROR
    base::HeapOptional<StepRecord> step;
    std::optional<Timestamp> until;  // suspend: visible then, instead of after `delay`
    int attempts = 0;                // suspend: the run's failures without progress, from now on
    std::string output;              // finish, SUCCESS: JSON text
    std::string error;               // finish, ERROR: JSON text
    std::string event;               // kind of an event to record with it, or ""
    std::string event_data;          // JSON text
    // suspend: the run to be made, whose end gives `step` its result (ctx.call). It is made once,
    // whatever is repeated: a step that already waits for a run keeps waiting for that one.
    // delegate_task: the same for the task.
    std::shared_ptr<const NewRun> call;

    // checkpoint of ctx.publish: goes into the outbox with the step's record.
    std::shared_ptr<const OutboxRecord> publish;

    // Of tasks.
    base::HeapOptional<TaskRef> task;
    bool permanent = false;
    std::optional<Duration> retry_delay;  // fail_task: instead of the flow's backoff
};

// A write that settles a message.
[[nodiscard]] inline Write settle_write(
    WriteKind kind, Lease lease, Duration delay = {}, std::string reason = {}
) {
    Write write;
    write.kind = kind;
    write.lease = lease;
    write.delay = delay;
    write.reason = std::move(reason);
    return write;
}

// Of its texts, about.
[[nodiscard]] std::size_t bytes_of(const Write& write);

enum class WriteStatus {
    done,
    lease_lost,
    cancelled,  // the lease is lost because the run was cancelled or deleted
    busy,       // somebody has the row locked just now: put it into the next batch
    rejected,   // refused for what this item says; `error` and `code` say why
};

struct WriteOutcome {
    WriteStatus status = WriteStatus::done;
    std::string error;
    ErrorCode code = ErrorCode::database_error;  // of a rejected write
};

// The refusals that both stores word alike.
[[nodiscard]] WriteOutcome refused_workflow_message(const Write& write);
[[nodiscard]] WriteOutcome refused_other_queue(const Write& write);
[[nodiscard]] WriteOutcome refused_value(const Write& write);

// What became of the rejection of an answer.
enum class Rejection {
    done,
    used,  // the run has recorded something after it, or it is not an answer: it stays
    lease_lost,
};

// `repeated`: an earlier commit of the same batch lost its answer, so what this delivery has
// already written counts as done.
enum class Attempt { first, repeated };

}  // namespace pawl::seam
