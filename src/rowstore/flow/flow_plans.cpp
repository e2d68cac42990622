#include "rowstore/flow/flow_plans.h"

#include <fmt/format.h>

#include "model/enum_names.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

namespace {

std::optional<Duration> optional_duration(const Rows& rows, int column) {
    if (rows.null(column)) return std::nullopt;
    return Duration(rows.integer(column));
}

// Reads the properties of a flow that may change. Returns its number of steps.
std::size_t read_head(const Rows& rows, FlowPlan& plan) {
    using Row = sql::row::FlowHead;
    plan.shape.slug = rows.text(Row::flow);
    plan.shape.options.max_attempts = rows.number(Row::max_attempts);
    plan.shape.options.backoff_base = Duration(rows.integer(Row::backoff_base_ms));
    plan.shape.options.task_timeout =
        Duration(rows.integer(Row::task_timeout_ms));  // null is 0: no timeout
    plan.audit = to_audit_level(rows.text(Row::audit));
    plan.lanes = rows.flag(Row::lanes);
    return static_cast<std::size_t>(rows.integer(Row::steps));
}

FlowStep read_step(const Rows& rows) {
    using Row = sql::row::FlowSteps;
    FlowStep step;
    step.slug = rows.text(Row::step_slug);
    step.type = model::stored_value(model::step_types, rows.text(Row::step_type), "step type");
    FlowStepOptions& options = step.options;
    if (!rows.null(Row::max_attempts)) options.max_attempts = rows.number(Row::max_attempts);
    options.backoff_base = optional_duration(rows, Row::base_delay_ms);
    options.task_timeout = optional_duration(rows, Row::timeout_ms);
    options.start_delay = Duration(rows.integer(Row::start_delay_ms));
    options.required_input_pattern = rows.optional_json(Row::required_input_pattern);
    options.forbidden_input_pattern = rows.optional_json(Row::forbidden_input_pattern);
    options.when_unmet = model::stored_value(
        model::when_unmet_names, rows.text(Row::when_unmet), "when_unmet policy"
    );
    options.when_exhausted = model::stored_value(
        model::when_exhausted_names, rows.text(Row::when_exhausted), "when_exhausted policy"
    );
    return step;
}

void read_graph(Session& session, FlowPlan& plan) {
    {
        Rows rows = session.query(sql::flow_steps, plan.workflow);
        while (rows.next()) plan.shape.steps.push_back(read_step(rows));
    }
    plan.deps.resize(plan.shape.steps.size());
    plan.dependents.resize(plan.shape.steps.size());
    using Row = sql::row::FlowDeps;
    Rows rows = session.query(sql::flow_deps, plan.workflow);
    while (rows.next()) {
        const int step = rows.number(Row::step_index);
        const int dep = rows.number(Row::dep_index);
        plan.deps[static_cast<std::size_t>(step)].push_back(dep);
        plan.dependents[static_cast<std::size_t>(dep)].push_back(step);
        plan.shape.steps[static_cast<std::size_t>(step)].deps.push_back(plan.slug(dep));
    }
    for (std::size_t i = 0; i < plan.shape.steps.size(); ++i)
        plan.indexes.emplace(plan.shape.steps[i].slug, static_cast<int>(i));
}

}  // namespace

std::optional<int> FlowPlan::index_of(const std::string& slug) const {
    const auto found = indexes.find(slug);
    if (found == indexes.end()) return std::nullopt;
    return found->second;
}

int FlowPlan::max_attempts(int index, const std::optional<int>& of_run) const {
    const auto& own = step(index).options.max_attempts;
    if (own) return *own;
    return of_run ? *of_run : shape.options.max_attempts.value_or(1);
}

Duration FlowPlan::base_delay(int index) const {
    return step(index).options.backoff_base.value_or(shape.options.backoff_base.value_or(Duration{})
    );
}

std::optional<Duration> FlowPlan::timeout(int index) const {
    const Duration timeout =
        step(index).options.task_timeout.value_or(shape.options.task_timeout.value_or(Duration{}));
    if (timeout == Duration::zero()) return std::nullopt;
    return timeout;
}

std::optional<FlowPlan> read_flow_plan(Session& session, QueueId workflow) {
    FlowPlan plan;
    plan.workflow = workflow;
    {
        Rows rows = session.query(sql::flow_head, workflow);
        if (!rows.next()) return std::nullopt;
        (void)read_head(rows, plan);
    }
    read_graph(session, plan);
    return plan;
}

const FlowPlan& FlowPlans::get(Session& session, QueueId workflow) {
    Entry& entry = entries_[workflow];
    if (entry.checked_in == transaction_) return entry.plan;
    bool known = false;
    {
        Rows rows = session.query(sql::flow_head, workflow);
        if (rows.next()) known = read_head(rows, entry.plan) == entry.plan.shape.steps.size();
    }
    if (!known || !entry.plan.workflow) {
        auto plan = read_flow_plan(session, workflow);
        if (!plan) {
            entries_.erase(workflow);
            throw Error(
                ErrorCode::flow_not_found,
                fmt::format("workflow {} is not a flow, or was deleted", workflow.value())
            );
        }
        entry.plan = std::move(*plan);
    }
    entry.checked_in = transaction_;
    return entry.plan;
}

}  // namespace pawl::rowstore
