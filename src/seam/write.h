// Writes about leased work. A commit takes a batch of writes and returns one outcome for each
// (seam/outcome.h).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <pawl/flow.h>
#include <pawl/message.h>
#include <pawl/outbox.h>
#include <pawl/run.h>
#include <span>
#include <string>
#include <variant>

#include "base/heap_optional.h"

namespace pawl::seam {

// The record of a step in a checkpoint or a suspension.
struct StepWrite {
    std::string id;
    int position = 0;
    StepStatus status = StepStatus::success;
    int attempt = 1;
    std::optional<std::string> input;   // JSON text
    std::optional<std::string> output;  // JSON text
    std::optional<std::string> error;   // JSON text
    std::string pause_message;
    std::string pause_condition;
    // For a sleep: when it ends, by the database's clock, or how long it lasts from this commit on.
    std::optional<Timestamp> wake_at;
    bool wake_after_delay = false;  // wake_at becomes the time at which the message is visible
    // How long its body had run at `measured_at`; 0 for a step without a body.
    std::chrono::microseconds elapsed{0};
    std::chrono::steady_clock::time_point measured_at{};  // not set: when the batch is sent

    // The time since its body began, with the time that the write waited in the worker. A store
    // computes started_at = now - elapsed_at(time), with `time` read together with `now`.
    [[nodiscard]] std::chrono::microseconds elapsed_at(std::chrono::steady_clock::time_point time
    ) const;
};

// An event, as stored in the outbox.
struct OutboxRecord {
    std::string event_id;  // a UUID
    NewOutboxEvent event;
    RunId run;
};

// --- plain messages; `task` is set if the message carries a task of a flow. The message of a run
// or a task can only be released, handed back or extended; other writes are rejected with
// workflow_queue. ---

// Done: moved to the archive, or deleted if the queue has no archive.
struct Archive {};
// Deleted, without an archive entry.
struct Remove {};
// Released by the holder: strikes become 0, visible after `delay`.
struct Release {
    Duration delay{0};
    base::HeapOptional<TaskRef> task = {};
};
// Returned unstarted: as if this delivery had not happened.
struct HandBack {
    base::HeapOptional<TaskRef> task = {};
};
// A failed attempt: visible after `retry_after`, or a dead letter at the queue's max_attempts.
struct Fail {
    std::string error;
    Duration retry_after{0};
};
// Becomes a dead letter immediately.
struct Bury {
    std::string reason;
};
// The lease ends `lease` from now.
struct Extend {
    Duration lease{0};
    base::HeapOptional<TaskRef> task = {};
};

// --- runs; the lease names the run's message, which has the run's id ---

// Records a step: SUCCESS, ERROR, or RUNNING, which never overwrites a result.
struct Checkpoint {
    base::HeapOptional<StepWrite> step;             // always set
    base::HeapOptional<OutboxRecord> publish = {};  // stored in the outbox with the step
};
// The run waits. Records the step (PENDING, PAUSED) if there is one.
struct Suspend {
    RunStatus status = RunStatus::running;  // or PAUSED
    int attempts = 0;                       // the new count of the run's failures without progress
    Duration delay{0};                      // until the message is visible again
    std::optional<Timestamp> until = {};    // if set, replaces `delay`
    std::string last_error = {};
    base::HeapOptional<StepWrite> step = {};
    // The run to create, whose end gives `step` its result (ctx.call). A step that already waits
    // for a run keeps waiting for that one, so a repetition creates no second run.
    base::HeapOptional<NewRun> call = {};
};
// The run ends and its message is deleted.
struct Finish {
    RunStatus status = RunStatus::success;  // or ERROR
    std::string result;                     // JSON text: the output of SUCCESS, else the error
};

// --- tasks of flows; the lease names the task's message ---

// SUCCESS: starts the tasks that depend on this one.
struct CompleteTask {
    TaskRef task;
    std::string output;  // JSON text
};
// Another attempt after `retry_delay` or the flow's backoff, unless the failure is permanent or all
// attempts are used.
struct FailTask {
    TaskRef task;
    std::string error;
    bool permanent = false;
    std::optional<Duration> retry_delay = {};
};
// The task waits for a run that does its work, and ends like that run.
struct DelegateTask {
    TaskRef task;
    base::HeapOptional<NewRun> call;  // always set
};

using WriteAction = std::variant<
    Archive,
    Remove,
    Release,
    HandBack,
    Fail,
    Bury,
    Extend,
    Checkpoint,
    Suspend,
    Finish,
    CompleteTask,
    FailTask,
    DelegateTask>;

// The alternatives of WriteAction in the same order, for switches that the compiler checks.
enum class WriteKind {
    archive,
    remove,
    release,
    hand_back,
    fail,
    bury,
    extend,
    checkpoint,
    suspend,
    finish,
    complete_task,
    fail_task,
    delegate_task,
};
inline constexpr std::size_t write_kinds = std::variant_size_v<WriteAction>;
static_assert(write_kinds == static_cast<std::size_t>(WriteKind::delegate_task) + 1);

// An entry in the history of a run, recorded with the write.
struct AuditEvent {
    std::string kind;
    std::string data = "{}";  // JSON text
};

struct Write {
    Lease lease;
    WriteAction action;
    base::HeapOptional<AuditEvent> event = {};  // of runs
    // For a message settled by hand: the queue that it must be in. The same for all writes of a
    // batch.
    std::shared_ptr<const std::string> queue = {};

    [[nodiscard]] WriteKind kind() const { return static_cast<WriteKind>(action.index()); }
    template <class... Actions>
    [[nodiscard]] bool is() const {
        return (std::holds_alternative<Actions>(action) || ...);
    }
    template <class Action>
    [[nodiscard]] const Action& as() const {
        return std::get<Action>(action);
    }
    template <class Action>
    [[nodiscard]] Action& as() {
        return std::get<Action>(action);
    }
};
// Kept small: thousands of writes wait for a commit, and they are moved.
static_assert(sizeof(Write) <= 160);

// The writes of a batch, which their owners store elsewhere.
using Writes = std::span<const Write* const>;

// The task, step or called run that a write names, or null.
[[nodiscard]] const TaskRef* task_of(const Write& write);
[[nodiscard]] const StepWrite* step_of(const Write& write);
[[nodiscard]] const NewRun* called_run(const Write& write);

// The approximate size of its texts.
[[nodiscard]] std::size_t bytes_of(const Write& write);

}  // namespace pawl::seam
