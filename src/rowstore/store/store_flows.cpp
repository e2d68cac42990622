// Flows: their definition, and their tasks by hand.
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

// Id 0 where there is none of that name. Throws where the name is somebody else's.
QueueId find_flow(Session& session, const std::string& slug) {
    Rows rows = session.query(sql::flow_id, std::string_view(slug));
    if (!rows.next()) return {};
    if (!rows.null(0) && rows.flag(1)) return rows.id<QueueId>(0);
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "{} '{}' exists and is not a flow's: choose another name",
            rows.null(0) ? "queue" : "workflow",
            slug
        )
    );
}

QueueId require_flow(Session& session, const std::string& slug) {
    Rows rows = session.query(sql::flow_id, std::string_view(slug));
    if (rows.next() && !rows.null(0) && rows.flag(1)) return rows.id<QueueId>(0);
    throw Error(ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, slug));
}

QueueId make_queue(Session& session, const std::string& slug, Timestamp now) {
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
            optional_milliseconds(options.base_delay),
            optional_milliseconds(options.timeout)
        );
        return id;
    }
    const QueueId id = make_queue(session, slug, now);
    session.post(
        sql::insert_flow,
        id,
        model::task_starts(options.max_attempts).value_or(model::rules::default_flow_attempts),
        options.base_delay.value_or(model::rules::default_flow_base_delay).count(),
        options.timeout.value_or(model::rules::default_flow_timeout).count(),
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
        optional_milliseconds(options.base_delay),
        optional_milliseconds(options.timeout),
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

// Keeps `plan` as the file is.
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

// Its live runs are cancelled first: their callers are told, and whoever works on them.
void delete_forced(WriteScope& scope, QueueId workflow) {
    std::vector<RunId> live;
    {
        Rows rows = scope.session.query(sql::live_runs, workflow);
        while (rows.next()) live.push_back(rows.id<RunId>(0));
    }
    for (const RunId run : live) {
        const auto state = find_run_state(scope.session, run);
        if (state && !is_finished(state->status))
            RunSettler(scope).cancel(*state, "its flow was deleted");
        settle_calls(scope);
    }
    delete_workflow_rows(scope.session, workflow);
}

TaskInfo read_task(const Rows& rows, RunId run) {
    TaskInfo task;
    task.task = {run, std::string(rows.text(0)), rows.number(1)};
    task.status = model::stored_value(model::task_statuses, rows.text(2), "task status");
    task.message = rows.id<MessageId>(3);
    task.attempts = rows.number(4);
    task.delivery = rows.number(5);
    task.worker = rows.id<WorkerId>(6);
    if (!rows.null(7)) task.input = Json{std::string(rows.text(7))};
    if (!rows.null(8)) task.output = Json{std::string(rows.text(8))};
    task.error = rows.text(9);
    task.queued_at = rows.time(10);
    if (!rows.null(11)) task.started_at = rows.time(11);
    if (!rows.null(12)) task.completed_at = rows.time(12);
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
            Rows rows = session.query(sql::flow_id, std::string_view(slug));
            if (!rows.next() || rows.null(0) || !rows.flag(1)) return std::nullopt;
            id = rows.id<QueueId>(0);
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
