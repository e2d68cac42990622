#include "rowstore/flow/insert_flow_run.h"

#include <algorithm>

#include "rowstore/flow/flow_engine.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

RunId take_id(WriteScope& scope) {
    Session& session = scope.session;
    if (const auto reserved = scope.message_ids.take(session)) return RunId(*reserved);
    if (session.execute(sql::take_message_id) == 0) session.post(sql::take_first_message_id);
    Rows rows = session.query(sql::taken_message_id);
    return rows.next() ? rows.id<RunId>(0) : RunId();
}

struct TakenSteps {
    // By step_index, for all steps of the origin: whether the copy takes over its result.
    std::vector<bool> taken;
    // Of these, the skipped steps whose dependents are skipped too.
    std::vector<int> cascading;
};

bool cascades(const FlowStepOptions& options, std::string_view skip_reason) {
    if (skip_reason == "condition_unmet") return options.when_unmet == WhenUnmet::skip_cascade;
    if (skip_reason == "handler_failed")
        return options.when_exhausted == WhenExhausted::skip_cascade;
    return true;  // dependency_skipped
}

TakenSteps find_taken(
    Session& session, const FlowPlan& plan, RunId origin, const std::optional<ForkPoint>& fork
) {
    TakenSteps found;
    using Row = sql::row::StepStatuses;
    Rows rows = session.query(sql::step_statuses, origin);
    while (rows.next()) {
        const int step = rows.number(Row::position);
        const StepStatus status = to_step_status(rows.text(Row::status));
        const bool done = status == StepStatus::success || status == StepStatus::skipped;
        found.taken.push_back(done && !(fork && step >= fork->position));
        if (found.taken.back() && status == StepStatus::skipped &&
            cascades(plan.step(step).options, rows.text(Row::skip_reason)))
            found.cascading.push_back(step);
    }
    return found;
}

struct Copy {
    RunId run;
    RunId origin;
    const FlowPlan& plan;
    const std::vector<bool>& taken;
};

// Returns the steps without open dependencies.
std::vector<int> copy_steps(Session& session, const Copy& copy) {
    std::vector<int> ready;
    const auto is_taken = [&](int step) { return copy.taken[static_cast<std::size_t>(step)]; };
    for (int step = 0; step < static_cast<int>(copy.taken.size()); ++step) {
        const std::string_view slug = copy.plan.slug(step);
        if (is_taken(step)) {
            session.post(sql::copy_flow_step, copy.run, copy.origin, slug);
            session.post(sql::copy_tasks, copy.run, copy.origin, step);
            continue;
        }
        const auto waits_for =
            std::ranges::count_if(copy.plan.deps_of(step), [&](int dep) { return !is_taken(dep); });
        session.post(sql::insert_pending_step, copy.run, slug, step, waits_for);
        if (waits_for == 0) ready.push_back(step);
    }
    return ready;
}

}  // namespace

RunId insert_flow_run(
    WriteScope& scope,
    QueueId workflow,
    std::string_view input,
    const TriggerOptions& options,
    BadInput bad_input
) {
    Session& session = scope.session;
    const FlowPlan& plan = scope.flows.get(session, workflow);
    if (bad_input == BadInput::refused) check_root_input(plan, input);
    FlowRun run;
    run.id = take_id(scope);
    run.workflow = workflow;
    run.priority = options.priority;
    run.max_attempts = options.max_attempts;
    run.remaining_steps = static_cast<int>(plan.shape.steps.size());
    session.post(
        sql::insert_flow_run,
        run.id,
        workflow,
        run.priority,
        run.max_attempts,
        options.parent,
        options.idempotency_key,
        run.remaining_steps,
        scope.now,
        input
    );
    add_triggered(session, run.id, plan.audit, scope.now);
    session.post(sql::insert_run_steps, run.id, workflow, scope.now);
    FlowEngine(scope, run).start(options.at.value_or(scope.now + options.delay));
    return run.id;
}

RunId copy_flow_run(
    WriteScope& scope, const CopiedRun& origin, const std::optional<ForkPoint>& fork
) {
    Session& session = scope.session;
    const FlowPlan& plan = scope.flows.get(session, origin.workflow);
    const auto [taken, cascading] = find_taken(session, plan, origin.run, fork);
    std::optional<std::string_view> forked_at;
    if (fork) forked_at = fork->step;
    const RunId run = take_id(scope);
    session.post(
        sql::copy_flow_run, run, origin.run, forked_at, std::ranges::count(taken, false), scope.now
    );
    add_triggered(session, run, origin.audit, scope.now);
    session.post(sql::copy_tags, run, origin.run);
    const auto ready = copy_steps(session, {run, origin.run, plan, taken});
    FlowEngine(scope, *find_flow_run(session, run)).start_steps(cascading, ready);
    return run;
}

}  // namespace pawl::rowstore
