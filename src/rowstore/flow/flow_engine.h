// A run of a flow inside a write transaction: what a step's end starts, until nothing more follows.
//
//   a step is done (SUCCESS, SKIPPED)  -> each dependent counts down; at 0 it becomes ready
//   a step becomes ready               -> its condition; then its tasks are made, or, where a map
//                                         has no elements or the condition is not met, it is done
//   no step is left                    -> the run is SUCCESS
//   a step fails                       -> the run is ERROR, everything open is CANCELLED
//
// All that follows at once stands in one list, so a chain may have any length.
#pragma once

#include <deque>
#include <optional>
#include <pawl/run.h>
#include <string>
#include <string_view>
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
// None where there is no such run, or it is not a flow's.
[[nodiscard]] std::optional<FlowRun> find_flow_run(Session& session, RunId run);

class FlowEngine {
public:
    FlowEngine(WriteScope& scope, const FlowRun& run);

    // Of a new run, whose step rows are there (insert_run_steps). Nothing is visible before `at`.
    void start(Timestamp at);
    // Of a copied run: all that depends on the first is skipped; the others wait for nothing.
    void start_steps(const std::vector<int>& cascading, const std::vector<int>& ready);

    // The last task of the step has succeeded.
    void succeed_step(int step, std::string_view output);
    // The output of the step's only task is not the array that a map needs; the task's row says so.
    void reject_output(int step, std::string_view output, const model::RunError& error);
    // A task of the step has used up its attempts, and its own row says so.
    void exhaust_step(int step, const model::RunError& error);
    // The run ends as it is.
    void fail(const model::RunError& error, model::EventKind event);
    void cancel(const std::string& reason);

    [[nodiscard]] const FlowPlan& plan() const { return plan_; }
    [[nodiscard]] const FlowRun& run() const { return run_; }

private:
    [[nodiscard]] bool is_root(int step) const { return plan_.deps_of(step).empty(); }

    void work();
    void become_ready(int step);
    [[nodiscard]] bool is_pending(int step);
    [[nodiscard]] Verdict judge(int step, std::string& why);
    void not_met(int step);
    void start_single(int step);
    void start_map(int step);
    void make_task(int step, int task, std::optional<std::string_view> input);
    void release_dependents(int step);
    void skip_step(int step, std::string_view reason, std::optional<std::string_view> error);
    void skip_dependents(int step);
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
    std::deque<int> ready_;
    int written_remaining_;
};

// The outputs of a step's dependencies that were not skipped, as members of a JSON object.
void append_outputs(Session& session, const FlowPlan& plan, RunId run, int step, std::string& json);

}  // namespace pawl::rowstore
