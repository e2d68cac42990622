#include <fmt/format.h>

#include "model/enum_names.h"
#include "rowstore/run/insert_run.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

// What runs of flows have in common with all runs, and nothing else.
bool fits_flow(const WorkflowOptions& options) {
    const bool some = options.dead_letter_workflow || options.audit || options.publish;
    return some && !options.max_attempts && !options.backoff_base && !options.backoff_cap &&
           !options.lease && !options.run_timeout && !options.max_strikes;
}

void refuse_other_queue(Session& session, const std::string& name, const WorkflowOptions& options) {
    Rows rows = session.query(sql::flow_id, std::string_view(name));
    if (!rows.next() || (!rows.null(0) && (!rows.flag(1) || fits_flow(options)))) return;
    throw Error(
        ErrorCode::invalid_argument,
        rows.null(0)
            ? fmt::format("queue '{}' exists and is not a workflow's: choose another name", name)
            : fmt::format(
                  "'{}' is a flow: create_flow changes its options; only dead_letter_workflow, "
                  "audit and "
                  "publish are set here",
                  name
              )
    );
}

// A failed run of a dead letter workflow is handed on by that one's own: a chain that leads back
// would never end.
void refuse_dead_letter_cycle(Session& session, const std::string& name, QueueId forward_to) {
    std::string chain = name;
    for (QueueId next = forward_to; next;) {
        Rows rows = session.query(sql::dead_letter_chain, next);
        if (!rows.next()) return;
        chain.append(" -> ").append(rows.text(1));
        if (rows.text(1) == name) {
            throw Error(
                ErrorCode::invalid_argument,
                fmt::format(
                    "workflow '{}': its dead letter workflow leads back to it ({}): end the chain "
                    "of dead letter workflows somewhere",
                    name,
                    chain
                )
            );
        }
        next = rows.id<QueueId>(0);
    }
}

QueueId find_dead_letter_workflow(
    Session& session, const std::string& name, const WorkflowOptions& options
) {
    if (!options.dead_letter_workflow || options.dead_letter_workflow->empty()) return {};
    if (*options.dead_letter_workflow == name) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("workflow '{}' cannot be its own dead letter workflow", name)
        );
    }
    const QueueId id = require_workflow(session, *options.dead_letter_workflow).id;
    refuse_dead_letter_cycle(session, name, id);
    return id;
}

// No archive: the run is the record. No limit of attempts: the run's own count.
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
    WorkflowInfo workflow;
    workflow.queue = rows.id<QueueId>(0);
    workflow.name = rows.text(1);
    workflow.paused = rows.flag(2);
    workflow.max_attempts = rows.number(3);
    workflow.backoff_base = Duration(rows.integer(4));
    workflow.backoff_cap = Duration(rows.integer(5));
    if (!rows.null(6)) workflow.lease = Duration(rows.integer(6));
    if (!rows.null(7)) workflow.run_timeout = Duration(rows.integer(7));
    workflow.max_strikes = rows.number(8);
    workflow.dead_letter_workflow = rows.text(9);
    workflow.audit = model::stored_value(model::audit_levels, rows.text(10), "audit level");
    workflow.created_at = rows.time(11);
    workflow.is_flow = rows.flag(12);
    if (!rows.null(13)) workflow.task_timeout = Duration(rows.integer(13));
    workflow.publish = model::stored_value(model::publish_levels, rows.text(14), "publish level");
    return workflow;
}

}  // namespace

void refuse_live_runs(Session& session, const std::string& name, QueueId workflow, QueueKind kind) {
    Rows rows = session.query(sql::count_live_runs, workflow);
    if (!rows.next() || rows.integer(0) == 0) return;
    throw Error(
        ErrorCode::workflow_has_runs,
        fmt::format(
            "{} '{}' has {} live runs: cancel them, {}",
            to_string(kind),
            name,
            rows.integer(0),
            kind == QueueKind::flow ? "let them end, or force it" : "or let them end"
        )
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

}  // namespace pawl::rowstore
