// Writes of tasks inside a write transaction: reports of their holders, by lease or by name, and
// the effects of lost leases and of called runs that have ended.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/event_kinds.h"
#include "rowstore/commit/write_scope.h"
#include "rowstore/flow/flow_engine.h"
#include "seam/outcome.h"

namespace pawl::rowstore {

// Whether the writer still holds the lease that it names; nothing is written if it is lost.
enum class Fence { held, lost };
[[nodiscard]] constexpr Fence fence_of(std::int64_t changed_rows) {
    return changed_rows > 0 ? Fence::held : Fence::lost;
}

// A task and its message.
struct TaskKey {
    QueueId workflow;
    RunId run;
    int step = 0;
    int task = 0;
    MessageId message;
};

// The result of the run for which a task or a step waits.
struct CallResult {
    bool succeeded = false;
    std::string output;   // JSON text
    std::string message;  // the error message
};

class TaskSettler {
public:
    explicit TaskSettler(WriteScope& scope) : scope_(scope), session_(scope.session) {}

    // For the holder: writes nothing if the lease is lost.
    Fence complete(const Lease& lease, const seam::CompleteTask& complete);
    Fence fail(const Lease& lease, const seam::FailTask& fail);
    Fence delegate(const Lease& lease, const seam::DelegateTask& delegate);
    // The reason why a write found no lease; none if the write does not name a task.
    [[nodiscard]] std::optional<seam::WriteStatus> explain(
        const seam::Write& write, seam::Attempt attempt
    );

    // By name; delivery 0 accepts any delivery.
    [[nodiscard]] TaskOutcome complete(const TaskRef& ref, std::string_view output, int delivery);
    [[nodiscard]] TaskOutcome fail(const TaskRef& ref, const std::string& error, int delivery);

    // Fails a task whose lease has ended and that is not delivered again.
    void fail_exhausted(const TaskKey& key, std::string_view why);
    // Passes the result of a called run to the task that waits for it.
    void end_call(const TaskRef& ref, const CallResult& result);

private:
    struct Found {
        TaskKey key;
        TaskStatus status = TaskStatus::queued;
        int attempts = 0;
        int delivery = 0;
        RunStatus run_status = RunStatus::queued;
    };
    struct Failure {
        std::string_view message;
        bool permanent = false;
        std::optional<Duration> retry_delay = {};
    };

    [[nodiscard]] std::optional<TaskKey> find_held(const Lease& lease);
    [[nodiscard]] bool is_still_held(const TaskKey& key, const Lease& lease);
    [[nodiscard]] bool is_map(const TaskKey& key);
    [[nodiscard]] std::optional<Found> find(const TaskRef& ref);
    // The outcome of a report by name; `done` if it can be written.
    [[nodiscard]] static TaskOutcome judge(const Found& found, int delivery);
    [[nodiscard]] static bool was_written(const seam::Write& write, const Found& found);
    void succeed(const TaskKey& key, std::string_view output);
    // A map of the run that needs an array, if `output` is not one.
    [[nodiscard]] std::optional<int> find_starved_map(const TaskKey& key, std::string_view output);
    void reject_output(const TaskKey& key, std::string_view output, int map);
    // The attempt that has failed.
    struct Start {
        int attempts = 0;
        int delivery = 0;
        WorkerId worker;
    };
    [[nodiscard]] Start read_start(const TaskKey& key);
    void fail(const TaskKey& key, const Failure& failure);
    void retry(
        const FlowEngine& engine, const TaskKey& key, const Start& start, const Failure& why
    );
    void exhaust(
        FlowEngine& engine, const TaskKey& key, const Start& start, std::string_view message
    );
    struct Event {
        model::EventKind kind;
        std::optional<std::string_view> message;  // the error message
    };
    void add_event(
        const FlowPlan& plan, const TaskKey& key, const Start& start, const Event& event
    );

    WriteScope& scope_;
    Session& session_;
};

// Counts down the steps of maps by the tasks that the transaction has completed, once per step,
// because the step's row may be next to large rows. Called at the end of the transaction; for a
// single run, before any other change of that run.
void settle_maps(WriteScope& scope);
void settle_maps(WriteScope& scope, RunId run);

}  // namespace pawl::rowstore
