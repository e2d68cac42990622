#include "rowstore/flow/flow_engine.h"

#include <algorithm>
#include <fmt/format.h>
#include <limits>

#include "model/flow.h"
#include "model/json_elements.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/commit/calls.h"
#include "rowstore/commit/run_publisher.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using model::EventKind;

namespace {

using StepRow = sql::row::FlowStep;

constexpr int last_step = std::numeric_limits<int>::max();

void append_member(std::string& json, std::string_view name, std::string_view value) {
    if (json.back() != '{') json += ',';
    json.append(1, '"').append(name).append("\":").append(value);
}

}  // namespace

std::optional<FlowRun> find_flow_run(Session& session, RunId run) {
    Rows rows = session.query(sql::flow_run, run);
    if (!rows.next()) return std::nullopt;
    using Row = sql::row::FlowRun;
    FlowRun found;
    found.id = run;
    found.workflow = rows.id<QueueId>(Row::workflow_id);
    found.status = to_run_status(rows.text(Row::status));
    found.priority = rows.number(Row::priority);
    if (!rows.null(Row::max_attempts)) found.max_attempts = rows.number(Row::max_attempts);
    found.remaining_steps = rows.number(Row::remaining_steps);
    found.worker = rows.id<WorkerId>(Row::worker_id);
    return found;
}

void append_outputs(
    Session& session, const FlowPlan& plan, RunId run, int step, std::string& json
) {
    for (const int dep : plan.deps_of(step)) {
        Rows rows = session.query(sql::flow_step, run, std::string_view(plan.slug(dep)));
        if (rows.next() && to_step_status(rows.text(StepRow::status)) == StepStatus::success)
            append_member(json, plan.slug(dep), rows.text(StepRow::output));
    }
}

FlowEngine::FlowEngine(WriteScope& scope, const FlowRun& run)
    : scope_(scope),
      session_(scope.session),
      now_(scope.now),
      run_(run),
      plan_(scope.flows.get(scope.session, run.workflow)),
      root_at_(scope.now),
      written_remaining_(run.remaining_steps) {}

void FlowEngine::start(Timestamp at) {
    root_at_ = std::max(at, now_);
    for (int step = 0; step < static_cast<int>(plan_.deps.size()); ++step) {
        if (!is_root(step)) continue;
        if (is_plain(step)) {
            create_task(step, 0, std::nullopt);
        } else {
            ready_.push_back(step);
        }
    }
    work();
}

void FlowEngine::start_steps(const std::vector<int>& cascading, const std::vector<int>& ready) {
    for (const int step : cascading) skip_dependents(step);
    for (const int step : ready) {
        if (is_pending(step)) ready_.push_back(step);
    }
    work();
}

void FlowEngine::succeed_step(int step, std::string_view output) {
    session_.post(
        sql::succeed_flow_step, run_.id, std::string_view(plan_.slug(step)), output, now_
    );
    --run_.remaining_steps;
    release_dependents(step);
    work();
}

void FlowEngine::reject_output(int step, std::string_view output, const model::RunError& error) {
    session_.post(sql::keep_step_output, run_.id, std::string_view(plan_.slug(step)), output);
    fail_step(step, error);
}

void FlowEngine::exhaust_step(int step, const model::RunError& error) {
    const WhenExhausted then = plan_.step(step).options.when_exhausted;
    if (then == WhenExhausted::fail) {
        fail_step(step, error);
        return;
    }
    cancel_called(scope_, run_.id, {plan_.slug(step), std::nullopt});
    session_.post(sql::delete_open_messages, run_.id, step, step);
    scope_.fences.forget();
    session_.post(sql::close_open_tasks, run_.id, step, step, to_string(TaskStatus::skipped), now_);
    const Json json = model::to_json(error);
    skip_step(step, "handler_failed", json.text);
    if (then == WhenExhausted::skip_cascade) {
        skip_dependents(step);
    } else {
        release_dependents(step);
    }
    work();
}

void FlowEngine::work() {
    while (!ready_.empty() && !is_finished(run_.status)) start_ready(std::exchange(ready_, {}));
    if (is_finished(run_.status)) return;
    if (run_.remaining_steps == 0) {
        succeed();
    } else if (run_.remaining_steps != written_remaining_) {
        session_.post(sql::set_remaining_steps, run_.id, run_.remaining_steps, now_);
        written_remaining_ = run_.remaining_steps;
    }
}

// If a step fails the run, the steps that became ready with it still start, but their dependents do
// not: so the order within `steps` only affects the ids of tasks.
void FlowEngine::start_ready(std::vector<int> steps) {
    std::ranges::sort(steps, {}, [&](int step) { return std::pair(!is_plain(step), step); });
    for (const int step : steps) become_ready(step);
    if (failure_) {
        fail_step(failure_->first, failure_->second);
        return;
    }
    for (const int step : std::exchange(passed_, {})) release_dependents(step);
}

// Whether the step starts with one task, independent of its input.
bool FlowEngine::is_plain(int step) const {
    const FlowStep& declared = plan_.step(step);
    return declared.type == StepType::single && !declared.options.required_input_pattern &&
           !declared.options.forbidden_input_pattern;
}

void FlowEngine::become_ready(int step) {
    if (is_plain(step)) {
        start_single(step);
        return;
    }
    const FlowStep& declared = plan_.step(step);
    const bool conditional =
        declared.options.required_input_pattern || declared.options.forbidden_input_pattern;
    if (!is_pending(step)) return;
    if (conditional) {
        std::string why;
        const Verdict verdict = judge(step, why);
        if (verdict == Verdict::impossible) {
            fail_later(step, {"condition_error", why, declared.slug, 0});
            return;
        }
        if (verdict == Verdict::unmet) {
            not_met(step);
            return;
        }
    }
    if (declared.type == StepType::map) {
        start_map(step);
    } else {
        start_single(step);
    }
}

// A step that was added to the flow after the start of this run has no row.
bool FlowEngine::is_pending(int step) {
    Rows rows = session_.query(sql::flow_step, run_.id, std::string_view(plan_.slug(step)));
    return rows.next() && to_step_status(rows.text(StepRow::status)) == StepStatus::pending;
}

Verdict FlowEngine::judge(int step, std::string& why) {
    std::string input;
    if (is_root(step)) {
        input = run_input();
    } else {
        input = "{";
        append_outputs(session_, plan_, run_.id, step, input);
        input += '}';
    }
    return judge_condition(plan_.step(step), input, why);
}

void FlowEngine::not_met(int step) {
    const std::string& slug = plan_.slug(step);
    switch (plan_.step(step).options.when_unmet) {
        case WhenUnmet::skip:
            skip_step(step, "condition_unmet", std::nullopt);
            passed_.push_back(step);
            return;
        case WhenUnmet::skip_cascade:
            skip_step(step, "condition_unmet", std::nullopt);
            skip_dependents(step);
            return;
        case WhenUnmet::fail:
            fail_later(
                step, {"condition_unmet", fmt::format(model::texts::condition_unmet, slug), slug, 0}
            );
            return;
    }
}

void FlowEngine::start_single(int step) {
    const auto started = session_.execute(
        sql::start_flow_step, run_.id, std::string_view(plan_.slug(step)), 1, now_
    );
    if (started > 0) create_task(step, 0, std::nullopt);
}

void FlowEngine::start_map(int step) {
    const std::string& slug = plan_.slug(step);
    std::string array;
    if (is_root(step)) {
        array = run_input();
    } else {
        const std::string_view dep = plan_.slug(plan_.deps_of(step).front());
        Rows rows = session_.query(sql::flow_step, run_.id, dep);
        const bool succeeded =
            rows.next() && to_step_status(rows.text(StepRow::status)) == StepStatus::success;
        array = succeeded ? rows.text(StepRow::output) : "[]";  // a skipped step has no elements
    }
    const auto elements = model::json_elements(array);
    if (!elements) {
        const std::string whose = is_root(step) ? std::string(model::texts::input_of_run)
                                                : fmt::format(
                                                      model::texts::output_of_step,
                                                      plan_.slug(plan_.deps_of(step).front())
                                                  );
        const std::string message = fmt::format(model::texts::map_needs_array, slug, whose);
        fail_later(step, {"not_an_array", message, slug, 0});
        return;
    }
    if (elements->empty()) {
        session_.post(sql::succeed_empty_map, run_.id, std::string_view(slug), now_);
        --run_.remaining_steps;
        passed_.push_back(step);
        return;
    }
    const auto count = static_cast<int>(elements->size());
    session_.post(sql::start_flow_step, run_.id, std::string_view(slug), count, now_);
    for (int task = 0; task < count; ++task)
        create_task(step, task, (*elements)[static_cast<std::size_t>(task)]);
}

void FlowEngine::create_task(int step, int task, std::optional<std::string_view> input) {
    const Timestamp at = (is_root(step) ? root_at_ : now_) + plan_.step(step).options.start_delay;
    std::optional<std::int64_t> lease_ms;
    std::optional<int> lane;
    if (plan_.lanes) lane = step;
    if (const auto timeout = plan_.timeout(step))
        lease_ms = (*timeout + model::rules::task_grace).count();
    const std::int64_t message = session_.insert(
        sql::insert_task_message,
        run_.workflow,
        run_.priority,
        std::string_view(at > now_ ? "waiting" : "ready"),
        at,
        now_,
        run_.id,
        step,
        task,
        lease_ms,
        lane
    );
    session_.post(sql::insert_task, run_.id, step, task, message, now_, input);
    scope_.wakeups.add(run_.workflow);
}

// A dependent becomes ready with its last dependency. Its counter is set to 0 when it starts or is
// skipped.
void FlowEngine::release_dependents(int step) {
    for (const int dependent : plan_.dependents_of(step)) {
        if (plan_.deps_of(dependent).size() == 1) {
            ready_.push_back(dependent);
            continue;
        }
        const std::string_view slug = plan_.slug(dependent);
        int remaining = 0;
        {
            Rows rows = session_.query(sql::flow_step, run_.id, slug);
            if (!rows.next() || to_step_status(rows.text(StepRow::status)) != StepStatus::pending)
                continue;
            remaining = rows.number(StepRow::remaining_deps);
        }
        if (remaining > 1) {
            session_.post(sql::set_remaining_deps, run_.id, slug, remaining - 1);
        } else {
            ready_.push_back(dependent);
        }
    }
}

void FlowEngine::skip_step(
    int step, std::string_view reason, std::optional<std::string_view> error
) {
    session_.post(
        sql::skip_flow_step, run_.id, std::string_view(plan_.slug(step)), reason, error, now_
    );
    --run_.remaining_steps;
}

// A step that is not PENDING was skipped before with all its dependents, so each is visited once.
void FlowEngine::skip_dependents(int step) {
    std::vector<int> skipped{step};
    while (!skipped.empty()) {
        const int cause = skipped.back();
        skipped.pop_back();
        for (const int dependent : plan_.dependents_of(cause)) {
            const std::string_view slug = plan_.slug(dependent);
            if (session_.execute(sql::skip_pending_step, run_.id, slug, now_) == 0) continue;
            --run_.remaining_steps;
            skipped.push_back(dependent);
        }
    }
}

// If several steps fail, the first one counts.
void FlowEngine::fail_later(int step, model::RunError error) {
    if (!failure_) failure_.emplace(step, std::move(error));
}

void FlowEngine::fail_step(int step, const model::RunError& error) {
    const Json json = model::to_json(error);
    session_.post(
        sql::fail_flow_step,
        run_.id,
        std::string_view(plan_.slug(step)),
        std::string_view(json.text),
        now_
    );
    add_event(EventKind::step_failed, json.text);
    fail(error, EventKind::run_failed);
}

// The output has the steps without dependents in this run, by index; skipped steps are omitted.
void FlowEngine::succeed() {
    int count = 0;
    {
        Rows rows = session_.query(sql::count_steps, run_.id);
        if (rows.next()) count = rows.number(0);
    }
    std::string output = "{";
    for (int step = 0; step < count; ++step) {
        const auto& dependents = plan_.dependents_of(step);
        if (!dependents.empty() && dependents.front() < count) continue;
        Rows rows = session_.query(sql::flow_step, run_.id, std::string_view(plan_.slug(step)));
        if (rows.next() && to_step_status(rows.text(StepRow::status)) == StepStatus::success)
            append_member(output, plan_.slug(step), rows.text(StepRow::output));
    }
    output += '}';
    session_.post(sql::succeed_flow_run, run_.id, std::string_view(output), now_);
    run_.status = RunStatus::success;
    add_event(EventKind::run_succeeded, "{}");
    scope_.wakeups.ended.push_back(run_.id);
    scope_.ended.push_back(run_.id);
    RunPublisher(session_, now_, scope_.wakeups).ended(run_.id);
}

void FlowEngine::fail(const model::RunError& error, EventKind event) {
    const Json json = model::to_json(error);
    // If pawl itself ended the run, the event is an alert.
    const bool is_alert = event != EventKind::run_failed;
    close(RunStatus::error, json.text, is_alert ? to_string(event) : std::string_view());
    add_event(event, json.text);
    insert_dead_letter_run(scope_, run_.id, json.text);
}

void FlowEngine::cancel(const std::string& reason) {
    const Json json = model::to_json({std::string(to_string(EventKind::cancelled)), reason, {}, 0});
    close(RunStatus::cancelled, json.text, {});
    run_.worker = {};  // not an action of the worker
    add_event(EventKind::cancelled, json.text);
}

void FlowEngine::close(RunStatus status, std::string_view error, std::string_view alert) {
    session_.post(sql::delete_open_messages, run_.id, 0, last_step);
    scope_.fences.forget();
    session_.post(
        sql::close_open_tasks, run_.id, 0, last_step, to_string(TaskStatus::cancelled), now_
    );
    session_.post(sql::cancel_open_steps, run_.id, now_);
    session_.post(
        sql::break_flow_run, run_.id, to_string(status), error, run_.remaining_steps, now_
    );
    run_.status = status;
    scope_.wakeups.cancelled.push_back(run_.id);
    scope_.ended.push_back(run_.id);
    RunPublisher(session_, now_, scope_.wakeups).ended(run_.id, alert);
}

void FlowEngine::add_event(EventKind kind, std::string_view data) {
    if (!model::is_audited(plan_.audit, kind)) return;
    session_.post(sql::add_event, run_.id, to_string(kind), data, run_.worker, 0, now_);
}

std::string FlowEngine::run_input() {
    Rows rows = session_.query(sql::run_input, run_.id);
    return rows.next() ? std::string(rows.text(0)) : std::string("null");
}

}  // namespace pawl::rowstore
