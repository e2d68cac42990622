// Flows: their definition, and operations of users on tasks.
#include <algorithm>
#include <fmt/format.h>

#include "model/enum_names.h"
#include "model/flow.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/commit/run_settler.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

std::optional<std::string_view> text_of(const std::optional<Json>& json) {
    if (!json) return std::nullopt;
    return json->text;
}

// Returns id 0 if the name does not exist. Throws if it belongs to something else.
QueueId find_flow(Session& session, const std::string& slug) {
    using Row = sql::row::FlowId;
    Rows rows = session.query(sql::flow_id, std::string_view(slug));
    if (!rows.next()) return {};
    if (!rows.null(Row::workflow_id) && rows.flag(Row::is_flow))
        return rows.id<QueueId>(Row::workflow_id);
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            model::texts::not_a_flow, rows.null(Row::workflow_id) ? "queue" : "workflow", slug
        )
    );
}

QueueId require_flow(Session& session, const std::string& slug) {
    using Row = sql::row::FlowId;
    Rows rows = session.query(sql::flow_id, std::string_view(slug));
    if (rows.next() && !rows.null(Row::workflow_id) && rows.flag(Row::is_flow))
        return rows.id<QueueId>(Row::workflow_id);
    throw Error(ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, slug, slug));
}

QueueId create_flow_queue(Session& session, const std::string& slug, Timestamp now) {
    session.post(
        sql::create_queue,
        std::string_view(slug),
        false,
        std::nullopt,
        QueueInfo().max_strikes,
        0,
        false,
        QueueId(),
        now
    );
    return require_queue(session, slug);
}

QueueId write_flow(
    Session& session, const std::string& slug, const FlowOptions& options, Timestamp now
) {
    if (const QueueId id = find_flow(session, slug)) {
        session.post(
            sql::change_flow,
            id,
            model::task_starts(options.max_attempts),
            optional_milliseconds(options.backoff_base),
            optional_milliseconds(options.task_timeout)
        );
        return id;
    }
    const QueueId id = create_flow_queue(session, slug, now);
    session.post(
        sql::insert_flow,
        id,
        model::task_starts(options.max_attempts).value_or(model::rules::default_flow_attempts),
        options.backoff_base.value_or(model::rules::default_flow_base_delay).count(),
        options.task_timeout.value_or(model::rules::default_flow_timeout).count(),
        now
    );
    return id;
}

void insert_step(Session& session, const FlowPlan& plan, const FlowStep& step, Timestamp now) {
    const auto index = static_cast<std::int64_t>(plan.shape.steps.size());
    const FlowStepOptions& options = step.options;
    session.post(
        sql::insert_flow_step,
        plan.workflow,
        index,
        std::string_view(step.slug),
        to_string(step.type),
        static_cast<std::int64_t>(step.deps.size()),
        options.max_attempts,
        optional_milliseconds(options.backoff_base),
        optional_milliseconds(options.task_timeout),
        options.start_delay.count(),
        text_of(options.required_input_pattern),
        text_of(options.forbidden_input_pattern),
        to_string(options.when_unmet),
        to_string(options.when_exhausted),
        now
    );
    for (const std::string& dep : step.deps)
        session.post(sql::insert_flow_dep, plan.workflow, index, *plan.index_of(dep));
}

// Keeps `plan` equal to the stored flow.
void write_step(Session& session, FlowPlan& plan, const FlowStep& step, Timestamp now) {
    const std::string& flow = plan.shape.slug;
    if (const auto stored = plan.index_of(step.slug)) {
        const std::string what = model::difference(plan.step(*stored), step);
        if (what.empty()) return;
        throw Error(
            ErrorCode::flow_mismatch,
            fmt::format(model::texts::step_of_flow_differs, step.slug, flow, what)
        );
    }
    model::check_flow_deps(flow, step, plan.shape.steps);
    FlowStep added = model::normalized(step, plan.shape.steps);
    insert_step(session, plan, added, now);
    plan.indexes.emplace(added.slug, static_cast<int>(plan.shape.steps.size()));
    plan.shape.steps.push_back(std::move(added));
}

void write_shape(Session& session, const FlowShape& shape, Timestamp now) {
    const QueueId id = write_flow(session, shape.slug, shape.options, now);
    auto plan = read_flow_plan(session, id);
    for (const FlowStep& step : shape.steps) write_step(session, *plan, step, now);
}

// Live runs are cancelled first, so that their callers and their workers are notified.
void delete_forced(WriteScope& scope, QueueId workflow) {
    std::vector<RunId> live;
    {
        Rows rows = scope.session.query(sql::live_runs, workflow);
        while (rows.next()) live.push_back(rows.id<RunId>(0));
    }
    for (const RunId run : live) {
        const auto state = find_run_state(scope.session, run);
        if (state && !is_finished(state->status))
            RunSettler(scope).cancel(*state, std::string(model::texts::flow_deleted));
        settle_calls(scope);
    }
    delete_workflow_rows(scope.session, workflow);
}

TaskInfo read_task(const Rows& rows, RunId run) {
    using Row = store::row::Task;
    TaskInfo task;
    task.task = {run, std::string(rows.text(Row::step_slug)), rows.number(Row::task_index)};
    task.status = model::stored_value(model::task_statuses, rows.text(Row::status), "task status");
    task.message = rows.id<MessageId>(Row::message_id);
    task.attempts = rows.number(Row::attempts);
    task.delivery = rows.number(Row::delivery);
    task.worker = rows.id<WorkerId>(Row::worker_id);
    if (!rows.null(Row::input)) task.input = Json{std::string(rows.text(Row::input))};
    if (!rows.null(Row::output)) task.output = Json{std::string(rows.text(Row::output))};
    task.error = rows.text(Row::error);
    task.queued_at = rows.time(Row::queued_at);
    if (!rows.null(Row::started_at)) task.started_at = rows.time(Row::started_at);
    if (!rows.null(Row::completed_at)) task.completed_at = rows.time(Row::completed_at);
    return task;
}

}  // namespace

void RowStore::create_flow(const std::string& slug, const FlowOptions& options) {
    write([&](Session& session, Timestamp now) { write_flow(session, slug, options, now); });
}

void RowStore::add_step(const std::string& flow, const FlowStep& step) {
    write([&](Session& session, Timestamp now) {
        auto plan = read_flow_plan(session, require_flow(session, flow));
        write_step(session, *plan, step, now);
    });
}

void RowStore::create_flow_shape(const FlowShape& shape) {
    write([&](Session& session, Timestamp now) { write_shape(session, shape, now); });
}

EnsuredFlow RowStore::ensure_flow(const FlowShape& shape, EnsureMode mode) {
    return change([&](WriteScope& scope) {
        Session& session = scope.session;
        const QueueId id = find_flow(session, shape.slug);
        if (!id) {
            write_shape(session, shape, scope.now);
            return EnsuredFlow::created;
        }
        const std::string what = model::difference(read_flow_plan(session, id)->shape, shape);
        if (what.empty()) return EnsuredFlow::same;
        if (mode == EnsureMode::refuse_different) {
            throw Error(
                ErrorCode::flow_mismatch, fmt::format(model::texts::flow_differs, shape.slug, what)
            );
        }
        delete_forced(scope, id);
        write_shape(session, shape, scope.now);
        return EnsuredFlow::recreated;
    });
}

std::optional<FlowShape> RowStore::flow_shape(const std::string& slug) {
    return read([&](Session& session) -> std::optional<FlowShape> {
        QueueId id;
        {
            using Row = sql::row::FlowId;
            Rows rows = session.query(sql::flow_id, std::string_view(slug));
            if (!rows.next() || rows.null(Row::workflow_id) || !rows.flag(Row::is_flow))
                return std::nullopt;
            id = rows.id<QueueId>(Row::workflow_id);
        }
        return std::move(read_flow_plan(session, id)->shape);
    });
}

void RowStore::delete_flow(const std::string& slug, DeleteMode mode) {
    change([&](WriteScope& scope) {
        const QueueId id = require_flow(scope.session, slug);
        if (mode == DeleteMode::if_empty)
            refuse_live_runs(scope.session, slug, id, QueueKind::flow);
        delete_forced(scope, id);
    });
}

std::vector<TaskInfo> RowStore::tasks(RunId run) {
    return read([&](Session& session) {
        std::vector<TaskInfo> tasks;
        Rows rows = session.query(sql::list_tasks, run);
        while (rows.next()) tasks.push_back(read_task(rows, run));
        return tasks;
    });
}

TaskOutcome RowStore::complete_task(const TaskRef& task, const Json& output, int delivery) {
    return change([&](WriteScope& scope) {
        return TaskSettler(scope).complete(task, output.text, delivery);
    });
}

TaskOutcome RowStore::fail_task(const TaskRef& task, const std::string& error, int delivery) {
    return change([&](WriteScope& scope) { return TaskSettler(scope).fail(task, error, delivery); }
    );
}

}  // namespace pawl::rowstore
