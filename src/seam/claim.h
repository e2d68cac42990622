// A claim: what a worker requests, and the messages, runs and tasks that it receives.
#pragma once

#include <optional>
#include <pawl/flow.h>
#include <pawl/message.h>
#include <pawl/run.h>
#include <string>
#include <vector>

namespace pawl::seam {

// How strictly a claim follows priority and arrival. `streaming` is for a worker that claims
// repeatedly: for about a second it may skip rows that arrive behind the position of its last
// claim.
enum class Scan { exact, streaming };

// What the queues carry, and so what a claim starts. Queues of flows are claimed separately.
enum class Work {
    messages,
    runs,   // some queues may belong to workflows: starts their runs, fills Claim::runs
    tasks,  // all queues belong to flows: starts their tasks, fills Claim::tasks
};

struct ClaimRequest {
    std::vector<QueueId> queues;
    int max_messages = 1;
    std::optional<Duration> lease;  // none: the queue's, or the store's default
    WorkerId worker;                // none for an anonymous dequeue
    QueueId after;                  // fairness: the queue after which the search starts
    Scan scan = Scan::exact;
    Work work = Work::messages;
    // With Work::tasks and a single flow: claims only tasks of these steps, in bounded time however
    // many tasks other steps have. Empty means all steps.
    std::vector<std::string> steps = {};
};

// A recorded step, as needed for a replay.
struct ReplayStep {
    std::string id;
    int position = 0;
    StepStatus status = StepStatus::pending;
    int attempt = 0;
    std::string output;  // JSON text of a SUCCESS; else empty
    std::string error;   // JSON text of an ERROR; else empty
    std::optional<Timestamp> wake_at;
};

// The part of a run that a claim reads in addition to its message, whose payload is the run's
// input.
struct ClaimedRun {
    std::optional<int> max_attempts;
    Timestamp started_at;      // the run's first start, possibly this one
    bool steps_loaded = true;  // false if over the claim's byte budget: call Engine::recorded_steps
    std::vector<ReplayStep> steps;  // for redeliveries, and for retried and forked runs
};

// The part of a task that a claim reads in addition to its message, whose payload is the task's
// input.
struct ClaimedTask {
    TaskRef task;
    int attempts = 1;  // starts, including this one
    int max_attempts = 1;
    std::optional<Duration> timeout;  // none: no limit while the lease is extended
};

// A message of this claim whose last lease ended without a report.
struct TakenOver {
    MessageId message;
    WorkerId from;  // 0 if it was dequeued without a worker
};
// A message that the claim did not deliver because it has used up its strikes.
struct Poisoned {
    MessageId message;
    QueueId queue;
    std::string reason;
};

struct Claim {
    std::vector<Message> messages;  // by priority, then arrival; `queue` is left empty
    std::vector<QueueId> queues;    // the queue of each message
    // With Work::runs one per message; nullopt for a plain message.
    std::vector<std::optional<ClaimedRun>> runs;
    std::vector<ClaimedTask> tasks;     // with Work::tasks one per message
    std::vector<TakenOver> taken_over;  // for the log
    std::vector<Poisoned> poisoned;     // for the log
    Timestamp now;                      // the database's clock at the claim
    // When the next row of these queues becomes due. Not later than `now` if due rows were left.
    std::optional<Timestamp> next_due;
    QueueId after;  // for the next request
    // Not every queue was searched (wide subscriptions): claim again before waiting.
    bool more = false;
};

}  // namespace pawl::seam
