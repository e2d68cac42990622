// Flows: their definition, and their tasks by hand.
#include <pawl/flow.h>

#include "generated/postgres_sql.h"
#include "model/enum_names.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

Params& add_json(Params& params, const std::optional<Json>& json) {
    return json ? params.text(json->text) : params.null();
}

Params shape_params(const FlowShape& shape) {
    Params params;
    params.text(to_json(shape).text);
    return params;
}

Params task_params(const TaskRef& task, std::string_view report, int delivery) {
    Params params;
    params.int8(task.run.value()).text(task.step).int4(task.task_index).text(report);
    params.optional(delivery > 0 ? std::optional(delivery) : std::nullopt, &Params::int4);
    return params;
}

TaskOutcome to_outcome(std::string_view word) {
    return model::stored_value(model::task_outcomes, word, "task outcome");
}

TaskInfo read_task(const Rows& rows, int row, RunId run) {
    TaskInfo task;
    task.task = {run, rows.string(row, 0), rows.int4(row, 1)};
    task.status = model::stored_value(model::task_statuses, rows.text(row, 2), "task status");
    task.message = MessageId(rows.int8(row, 3));
    task.attempts = rows.int4(row, 4);
    task.delivery = rows.int4(row, 5);
    task.worker = WorkerId(rows.id(row, 6));
    task.input = rows.optional_json(row, 7);
    task.output = rows.optional_json(row, 8);
    task.error = rows.text(row, 9);
    task.queued_at = rows.time(row, 10);
    task.started_at = rows.optional_time(row, 11);
    task.completed_at = rows.optional_time(row, 12);
    return task;
}

}  // namespace

void PostgresStore::create_flow(const std::string& slug, const FlowOptions& options) {
    Params params;
    params.text(slug).optional(options.max_attempts, &Params::int4);
    params.milliseconds(options.base_delay).milliseconds(options.timeout);
    call(
        sql::create_flow, params, IfAnswerLost::repeat
    );  // idempotent: a lost answer leaves no doubt
}

void PostgresStore::add_step(const std::string& flow, const FlowStep& step) {
    const FlowStepOptions& options = step.options;
    Params params;
    params.text(flow).text(step.slug).text_array(std::span(step.deps));
    params.optional(options.max_attempts, &Params::int4);
    params.milliseconds(options.base_delay).milliseconds(options.timeout);
    params.int8(options.start_delay.count()).text(to_string(step.type));
    add_json(params, options.required_input_pattern);
    add_json(params, options.forbidden_input_pattern);
    params.text(to_string(options.when_unmet)).text(to_string(options.when_exhausted));
    call(sql::add_step, params, IfAnswerLost::repeat);
}

void PostgresStore::create_flow_shape(const FlowShape& shape) {
    call(sql::create_flow_shape, shape_params(shape), IfAnswerLost::repeat);
}

EnsuredFlow PostgresStore::ensure_flow(const FlowShape& shape, EnsureMode mode) {
    Params params = shape_params(shape);
    params.boolean(mode == EnsureMode::force);
    // Safe to repeat, but not with force: after a lost answer that would say `same`.
    const IfAnswerLost if_lost =
        mode == EnsureMode::force ? IfAnswerLost::doubt : IfAnswerLost::repeat;
    const Rows rows = call(sql::ensure_flow, params, if_lost);
    static constexpr model::NameTable<EnsuredFlow, 3> outcomes{{
        {EnsuredFlow::created, "created"},
        {EnsuredFlow::same, "same"},
        {EnsuredFlow::recreated, "recreated"},
    }};
    return model::stored_value(outcomes, rows.text(0, 0), "outcome");
}

std::optional<FlowShape> PostgresStore::flow_shape(const std::string& slug) {
    Params params;
    params.text(slug);
    const Rows rows = call(sql::get_flow_shape, params, IfAnswerLost::repeat);
    if (rows.empty()) return std::nullopt;
    return to_flow_shape(Json{rows.string(0, 0)});
}

void PostgresStore::delete_flow(const std::string& slug, DeleteMode mode) {
    Params params;
    params.text(slug).boolean(mode == DeleteMode::force);
    call(sql::delete_flow_and_data, params, IfAnswerLost::doubt);
}

std::vector<TaskInfo> PostgresStore::tasks(RunId run) {
    Params params;
    params.int8(run.value());
    const Rows rows = call(sql::list_tasks, params, IfAnswerLost::repeat);
    std::vector<TaskInfo> tasks;
    for (int i = 0; i < rows.size(); ++i) tasks.push_back(read_task(rows, i, run));
    return tasks;
}

// The functions themselves notify the other processes; this one is told here.
TaskOutcome PostgresStore::complete_task(const TaskRef& task, const Json& output, int delivery) {
    const Rows rows =
        call(sql::complete_task, task_params(task, output.text, delivery), IfAnswerLost::doubt);
    hub_.notify_all();
    signals_.notify(task.run);
    return to_outcome(rows.text(0, 0));
}

TaskOutcome PostgresStore::fail_task(const TaskRef& task, const std::string& error, int delivery) {
    const Rows rows = call(sql::fail_task, task_params(task, error, delivery), IfAnswerLost::doubt);
    hub_.notify_all();
    signals_.notify(task.run);
    return to_outcome(rows.text(0, 0));
}

}  // namespace pawl::postgres
