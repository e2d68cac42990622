#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/enum_names.h"
#include "model/texts.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

// Whether only options are set that flows and other workflows have in common.
bool fits_flow(const WorkflowOptions& options) {
    const bool some = options.dead_letter_workflow || options.audit || options.publish;
    return some && !options.max_attempts && !options.backoff_base && !options.backoff_cap &&
           !options.lease && !options.run_timeout && !options.max_strikes;
}

void refuse_other_queue(Session& session, const std::string& name, const WorkflowOptions& options) {
    using Row = sql::row::FlowId;
    Rows rows = session.query(sql::flow_id, std::string_view(name));
    if (!rows.next() ||
        (!rows.null(Row::workflow_id) && (!rows.flag(Row::is_flow) || fits_flow(options))))
        return;
    throw Error(
        ErrorCode::invalid_argument,
        rows.null(Row::workflow_id) ? fmt::format(model::texts::not_a_workflow, name)
                                    : fmt::format(model::texts::workflow_is_flow, name)
    );
}

// A failed run of a dead letter workflow is passed on to the dead letter workflow of that one: a
// cycle would never end.
void refuse_dead_letter_cycle(Session& session, const std::string& name, QueueId forward_to) {
    std::string chain = name;
    for (QueueId next = forward_to; next;) {
        using Row = sql::row::DeadLetterChain;
        Rows rows = session.query(sql::dead_letter_chain, next);
        if (!rows.next()) return;
        chain.append(" -> ").append(rows.text(Row::workflow));
        if (rows.text(Row::workflow) == name) {
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format(model::texts::dead_letter_cycle, name, chain)
            );
        }
        next = rows.id<QueueId>(Row::dead_letter_workflow_id);
    }
}

QueueId find_dead_letter_workflow(
    Session& session, const std::string& name, const WorkflowOptions& options
) {
    if (!options.dead_letter_workflow || options.dead_letter_workflow->empty()) return {};
    if (*options.dead_letter_workflow == name) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(model::texts::workflow_forwards_to_itself, name)
        );
    }
    const QueueId id = require_workflow(session, *options.dead_letter_workflow).id;
    refuse_dead_letter_cycle(session, name, id);
    return id;
}

// No archive, because the run is the record. No limit of attempts: the run counts them.
QueueId write_queue(
    Session& session, const std::string& name, const WorkflowOptions& options, Timestamp now
) {
    session.post(
        sql::create_queue,
        std::string_view(name),
        false,
        optional_milliseconds(options.lease),
        options.max_strikes,
        0,
        false,
        QueueId(),
        now
    );
    return require_queue(session, name);
}

void write_workflow(
    Session& session, QueueId id, const WorkflowOptions& options, QueueId dead_letter, Timestamp now
) {
    std::optional<std::int64_t> run_timeout = optional_milliseconds(options.run_timeout);
    if (run_timeout == 0) run_timeout.reset();
    std::optional<std::string_view> audit;
    if (options.audit) audit = to_string(*options.audit);
    std::optional<std::string_view> publish;
    if (options.publish) publish = to_string(*options.publish);
    session.post(
        sql::create_workflow,
        id,
        options.max_attempts,
        optional_milliseconds(options.backoff_base),
        optional_milliseconds(options.backoff_cap),
        options.run_timeout.has_value(),
        run_timeout,
        options.dead_letter_workflow.has_value(),
        dead_letter,
        audit,
        publish,
        now
    );
}

WorkflowInfo read_workflow(const Rows& rows) {
    using Row = store::row::Workflow;
    WorkflowInfo workflow;
    workflow.queue = rows.id<QueueId>(Row::workflow_id);
    workflow.name = rows.text(Row::workflow);
    workflow.paused = rows.flag(Row::paused);
    workflow.max_attempts = rows.number(Row::max_attempts);
    workflow.backoff_base = Duration(rows.integer(Row::backoff_base_ms));
    workflow.backoff_cap = Duration(rows.integer(Row::backoff_cap_ms));
    if (!rows.null(Row::lease_ms)) workflow.lease = Duration(rows.integer(Row::lease_ms));
    if (!rows.null(Row::run_timeout_ms))
        workflow.run_timeout = Duration(rows.integer(Row::run_timeout_ms));
    workflow.max_strikes = rows.number(Row::max_strikes);
    workflow.dead_letter_workflow = rows.text(Row::dead_letter_workflow);
    workflow.audit = model::stored_value(model::audit_levels, rows.text(Row::audit), "audit level");
    workflow.created_at = rows.time(Row::created_at);
    workflow.is_flow = rows.flag(Row::is_flow);
    if (!rows.null(Row::task_timeout_ms))
        workflow.task_timeout = Duration(rows.integer(Row::task_timeout_ms));
    workflow.publish =
        model::stored_value(model::publish_levels, rows.text(Row::publish), "publish level");
    return workflow;
}

}  // namespace

void refuse_live_runs(Session& session, const std::string& name, QueueId workflow, QueueKind kind) {
    Rows rows = session.query(sql::count_live_runs, workflow);
    if (!rows.next() || rows.integer(0) == 0) return;
    throw Error(
        ErrorCode::workflow_has_runs,
        kind == QueueKind::flow
            ? fmt::format(model::texts::flow_has_runs, name, rows.integer(0))
            : fmt::format(model::texts::workflow_has_runs, name, rows.integer(0))
    );
}

void delete_workflow_rows(Session& session, QueueId workflow) {
    std::string runs;
    {
        Rows rows = session.query(sql::ended_run_ids, workflow);
        if (rows.next()) runs = rows.text(0);
    }
    for (const store::Statement* statement :
         {&sql::delete_workflow_calls,
          &sql::delete_workflow_tasks,
          &sql::delete_workflow_steps,
          &sql::delete_workflow_tags,
          &sql::delete_workflow_signals,
          &sql::delete_workflow_events,
          &sql::delete_workflow_runs})
        session.post(*statement, std::string_view(runs));
    session.post(sql::delete_queue_messages, workflow);
    session.post(sql::delete_queue_archive, workflow);
    session.post(sql::delete_flow_deps, workflow);
    session.post(sql::delete_flow_steps, workflow);
    session.post(sql::delete_workflow, workflow);
    session.post(sql::delete_queue, workflow);
}

void RowStore::create_workflow(const std::string& name, const WorkflowOptions& options) {
    write([&](Session& session, Timestamp now) {
        refuse_other_queue(session, name, options);
        const QueueId dead_letter = find_dead_letter_workflow(session, name, options);
        write_workflow(
            session, write_queue(session, name, options, now), options, dead_letter, now
        );
    });
}

void RowStore::delete_workflow(const std::string& name) {
    write([&](Session& session, Timestamp) {
        const QueueId id = require_workflow(session, name).id;
        refuse_live_runs(session, name, id, QueueKind::workflow);
        delete_workflow_rows(session, id);
    });
}

std::vector<WorkflowInfo> RowStore::workflows(const std::optional<std::string>& only) {
    return read([&](Session& session) {
        std::vector<WorkflowInfo> workflows;
        Rows rows = session.query(sql::list_workflows, only);
        while (rows.next()) workflows.push_back(read_workflow(rows));
        return workflows;
    });
}

std::vector<WorkflowInfo> RowStore::workflows_named(std::span<const std::string> names) {
    const std::string list = nlohmann::json(std::vector<std::string>(names.begin(), names.end()))
                                 .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    return read([&](Session& session) {
        std::vector<WorkflowInfo> workflows;
        Rows rows = session.query(sql::named_workflows, std::string_view(list));
        while (rows.next()) workflows.push_back(read_workflow(rows));
        return workflows;
    });
}

}  // namespace pawl::rowstore
