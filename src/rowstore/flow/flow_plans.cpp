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

// What may change of a flow. Returns how many steps it has.
std::size_t read_head(const Rows& rows, FlowPlan& plan) {
    plan.shape.slug = rows.text(0);
    plan.shape.options.max_attempts = rows.number(1);
    plan.shape.options.base_delay = Duration(rows.integer(2));
    plan.shape.options.timeout = Duration(rows.integer(3));  // null is 0: none
    plan.audit = to_audit_level(rows.text(4));
    plan.lanes = rows.flag(6);
    return static_cast<std::size_t>(rows.integer(5));
}

FlowStep read_step(const Rows& rows) {
    FlowStep step;
    step.slug = rows.text(0);
    step.type = model::stored_value(model::step_types, rows.text(1), "step type");
    FlowStepOptions& options = step.options;
    if (!rows.null(2)) options.max_attempts = rows.number(2);
    options.base_delay = optional_duration(rows, 3);
    options.timeout = optional_duration(rows, 4);
    options.start_delay = Duration(rows.integer(5));
    options.required_input_pattern = rows.optional_json(6);
    options.forbidden_input_pattern = rows.optional_json(7);
    options.when_unmet =
        model::stored_value(model::when_unmet_names, rows.text(8), "when_unmet policy");
    options.when_exhausted =
        model::stored_value(model::when_exhausted_names, rows.text(9), "when_exhausted policy");
    return step;
}

void read_graph(Session& session, FlowPlan& plan) {
    {
        Rows rows = session.query(sql::flow_steps, plan.workflow);
        while (rows.next()) plan.shape.steps.push_back(read_step(rows));
    }
    plan.deps.resize(plan.shape.steps.size());
    plan.dependents.resize(plan.shape.steps.size());
    Rows rows = session.query(sql::flow_deps, plan.workflow);
    while (rows.next()) {
        const int step = rows.number(0);
        const int dep = rows.number(1);
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
    return step(index).options.base_delay.value_or(shape.options.base_delay.value_or(Duration{}));
}

std::optional<Duration> FlowPlan::timeout(int index) const {
    const Duration timeout =
        step(index).options.timeout.value_or(shape.options.timeout.value_or(Duration{}));
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
                fmt::format("workflow {} is no flow, or was deleted", workflow.value())
            );
        }
        entry.plan = std::move(*plan);
    }
    entry.checked_in = transaction_;
    return entry.plan;
}

}  // namespace pawl::rowstore
