// Flows: their definition, and operations of users on tasks.
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
    using Row = store::row::Task;
    TaskInfo task;
    task.task = {run, rows.string(row, Row::step_slug), rows.int4(row, Row::task_index)};
    task.status =
        model::stored_value(model::task_statuses, rows.text(row, Row::status), "task status");
    task.message = MessageId(rows.int8(row, Row::message_id));
    task.attempts = rows.int4(row, Row::attempts);
    task.delivery = rows.int4(row, Row::delivery);
    task.worker = WorkerId(rows.id(row, Row::worker_id));
    task.input = rows.optional_json(row, Row::input);
    task.output = rows.optional_json(row, Row::output);
    task.error = rows.text(row, Row::error);
    task.queued_at = rows.time(row, Row::queued_at);
    task.started_at = rows.optional_time(row, Row::started_at);
    task.completed_at = rows.optional_time(row, Row::completed_at);
    return task;
}

}  // namespace

void PostgresStore::create_flow(const std::string& slug, const FlowOptions& options) {
    Params params;
    params.text(slug).optional(options.max_attempts, &Params::int4);
    params.milliseconds(options.backoff_base).milliseconds(options.task_timeout);
    call(
        sql::create_flow, params, IfAnswerLost::repeat
    );  // idempotent, so a lost answer is not in doubt
}

void PostgresStore::add_step(const std::string& flow, const FlowStep& step) {
    const FlowStepOptions& options = step.options;
    Params params;
    params.text(flow).text(step.slug).text_array(std::span(step.deps));
    params.optional(options.max_attempts, &Params::int4);
    params.milliseconds(options.backoff_base).milliseconds(options.task_timeout);
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
    // Safe to repeat, except with force: after a lost answer the result would be `same`.
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
    tasks.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i) tasks.push_back(read_task(rows, i, run));
    return tasks;
}

// The functions notify other processes; this process is notified here.
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
