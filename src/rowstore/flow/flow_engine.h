// A run of a flow inside a write transaction: applies the end of a step and all its effects.
//
//   a step is done (SUCCESS, SKIPPED)  -> each dependent counts down; at 0 it becomes ready
//   a step becomes ready               -> its condition is evaluated and its tasks are created; it
//                                         is done if it is a map without elements, or skipped
//   all steps are done                 -> the run is SUCCESS
//   a step fails                       -> the run is ERROR, its open steps and tasks are CANCELLED
//
// Steps that are ready are kept in a list, not on the call stack, so a chain may have any length.
// Steps that become ready at the same time start in the same order on every store: first plain
// steps, then the others; by index. Claims deliver the tasks of one priority in the order of their
// ids.
#pragma once

#include <optional>
#include <pawl/run.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/event_kinds.h"
#include "model/run_error.h"
#include "rowstore/commit/write_scope.h"
#include "rowstore/flow/flow_conditions.h"

namespace pawl::rowstore {

struct FlowRun {
    RunId id;
    QueueId workflow;
    RunStatus status = RunStatus::queued;
    int priority = 0;
    std::optional<int> max_attempts;
    int remaining_steps = 0;
    WorkerId worker = {};  // the last one
};
// None if the run does not exist or does not belong to a flow.
[[nodiscard]] std::optional<FlowRun> find_flow_run(Session& session, RunId run);

class FlowEngine {
public:
    FlowEngine(WriteScope& scope, const FlowRun& run);

    // Starts a new run whose step rows exist (insert_run_steps). Tasks are not visible before `at`.
    void start(Timestamp at);
    // Starts a copied run: skips all dependents of `cascading` and starts `ready`.
    void start_steps(const std::vector<int>& cascading, const std::vector<int>& ready);

    // The last task of the step has succeeded.
    void succeed_step(int step, std::string_view output);
    // The output of the step's only task is not the array that a map needs. The task's row is
    // already written.
    void reject_output(int step, std::string_view output, const model::RunError& error);
    // A task of the step has no attempt left. The task's row is already written.
    void exhaust_step(int step, const model::RunError& error);
    // Ends the run as ERROR or CANCELLED.
    void fail(const model::RunError& error, model::EventKind event);
    void cancel(const std::string& reason);

    [[nodiscard]] const FlowPlan& plan() const { return plan_; }
    [[nodiscard]] const FlowRun& run() const { return run_; }

private:
    [[nodiscard]] bool is_root(int step) const { return plan_.deps_of(step).empty(); }

    [[nodiscard]] bool is_plain(int step) const;

    void work();
    void start_ready(std::vector<int> steps);
    void become_ready(int step);
    [[nodiscard]] bool is_pending(int step);
    [[nodiscard]] Verdict judge(int step, std::string& why);
    void not_met(int step);
    void start_single(int step);
    void start_map(int step);
    void create_task(int step, int task, std::optional<std::string_view> input);
    void release_dependents(int step);
    void skip_step(int step, std::string_view reason, std::optional<std::string_view> error);
    void skip_dependents(int step);
    void fail_later(int step, model::RunError error);
    void fail_step(int step, const model::RunError& error);
    void succeed();
    void close(RunStatus status, std::string_view error, std::string_view alert);
    void add_event(model::EventKind kind, std::string_view data);
    [[nodiscard]] std::string run_input();

    WriteScope& scope_;
    Session& session_;
    const Timestamp now_;
    FlowRun run_;
    const FlowPlan& plan_;
    Timestamp root_at_;
    std::vector<int> ready_;
    std::vector<int> passed_;                                 // done without a task
    std::optional<std::pair<int, model::RunError>> failure_;  // of a step that cannot start
    int written_remaining_;
};

// Appends the outputs of a step's dependencies that were not skipped, as members of a JSON object.
void append_outputs(Session& session, const FlowPlan& plan, RunId run, int step, std::string& json);

}  // namespace pawl::rowstore
