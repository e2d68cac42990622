#include "rowstore/run/insert_run.h"

#include <fmt/format.h>
#include <set>
#include <unordered_map>

#include "model/texts.h"
#include "rowstore/flow/insert_flow_run.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Triggered;

namespace {

// There is one writer at a time, so no other run can take the key between the lookup and the
// insert.
RunId run_of_key(Session& session, QueueId workflow, const std::optional<std::string>& key) {
    if (!key) return {};
    Rows rows = session.query(sql::run_of_key, workflow, std::string_view(*key));
    return rows.next() ? rows.id<RunId>(0) : RunId();
}

RunId insert_run_message(WriteScope& scope, QueueId workflow, int priority, Timestamp at) {
    const std::string_view state = at > scope.now ? "waiting" : "ready";
    const MessageRow row{workflow, priority, state, std::max(at, scope.now), "null"};
    return RunId(scope.message_ids.insert(scope.session, row, scope.now));
}

RunId insert_code_first_run(
    WriteScope& scope,
    const FoundWorkflow& workflow,
    std::string_view input,
    const TriggerOptions& options
) {
    Session& session = scope.session;
    const Timestamp at = options.at.value_or(scope.now + options.delay);
    const RunId run = insert_run_message(scope, workflow.id, options.priority, at);
    session.post(
        sql::insert_run,
        run,
        workflow.id,
        options.priority,
        options.max_attempts,
        options.parent,
        options.idempotency_key,
        scope.now,
        input
    );
    add_triggered(session, run, workflow.audit, scope.now);
    return run;
}

Triggered insert_run(
    WriteScope& scope,
    const FoundWorkflow& workflow,
    std::string_view input,
    const TriggerOptions& options,
    BadInput bad_input
) {
    if (const RunId earlier = run_of_key(scope.session, workflow.id, options.idempotency_key))
        return {earlier, false};
    const RunId run = workflow.is_flow
                          ? insert_flow_run(scope, workflow.id, input, options, bad_input)
                          : insert_code_first_run(scope, workflow, input, options);
    for (const std::string& tag : options.tags)
        scope.session.post(sql::insert_tag, std::string_view(tag), run);
    return {run, true};
}

using Workflows = std::unordered_map<std::string_view, FoundWorkflow>;

// Each key is announced once: the second run with the same key must see the first one.
void prefetch_keys(Session& session, std::span<const NewRun> runs, const Workflows& workflows) {
    if (session.round_trips() == RoundTrips::free) return;
    std::set<std::pair<QueueId, std::string_view>> announced;
    for (const NewRun& run : runs) {
        const auto& key = run.options.idempotency_key;
        const QueueId workflow = workflows.at(run.workflow).id;
        if (key && announced.emplace(workflow, *key).second)
            session.prefetch(sql::run_of_key, workflow, std::string_view(*key));
    }
}

}  // namespace

MessageIds prefetch_trigger(Session& session, std::span<const NewRun> runs) {
    if (session.round_trips() == RoundTrips::free) return {};
    std::set<std::string_view> workflows;
    for (const NewRun& run : runs) {
        if (workflows.insert(run.workflow).second)
            session.prefetch(sql::workflow_id, std::string_view(run.workflow));
    }
    return MessageIds(session, runs.size());
}

std::vector<Triggered> insert_runs(
    WriteScope& scope, std::span<const NewRun> runs, BadInput bad_input
) {
    std::vector<Triggered> triggered;
    triggered.reserve(runs.size());
    Workflows workflows;
    for (const NewRun& run : runs) {
        FoundWorkflow& workflow = workflows[run.workflow];
        if (!workflow.id) {
            workflow = require_workflow(scope.session, run.workflow);
            scope.wakeups.add(workflow.id);
        }
        if (run.flow && !workflow.is_flow)
            throw Error(
                ErrorCode::flow_not_found,
                fmt::format(model::texts::flow_missing, run.workflow, run.workflow)
            );
    }
    prefetch_keys(scope.session, runs, workflows);
    for (const NewRun& run : runs)
        triggered.push_back(
            insert_run(scope, workflows[run.workflow], run.input.text, run.options, bad_input)
        );
    return triggered;
}

void insert_dead_letter_run(WriteScope& scope, RunId failed, std::string_view error) {
    FoundWorkflow workflow;
    std::string input;
    {
        using Row = sql::row::DeadLetter;
        Rows rows = scope.session.query(sql::dead_letter, failed);
        if (!rows.next()) return;
        workflow = {
            rows.id<QueueId>(Row::dead_letter_workflow_id),
            rows.flag(Row::is_flow),
            to_audit_level(rows.text(Row::audit))};
        input = fmt::format(
            R"({{"run_id":{},"workflow":"{}","input":{},"error":{}}})",
            failed.value(),
            rows.text(Row::workflow),
            rows.text(Row::input),
            error
        );
    }
    TriggerOptions options;
    options.parent = failed;
    // A run of a flow may fail immediately and call this again. The recursion ends because chains
    // of dead letter workflows have no cycle.
    if (insert_run(scope, workflow, input, options, BadInput::fails_the_run).created)
        scope.wakeups.add(workflow.id);
}

RunId copy_run(WriteScope& scope, const CopiedRun& origin, const std::optional<ForkPoint>& fork) {
    Session& session = scope.session;
    const RunId run = insert_run_message(scope, origin.workflow, origin.priority, scope.now);
    std::optional<std::string_view> forked_at;
    std::optional<std::int64_t> before_position;
    if (fork) {
        forked_at = fork->step;
        before_position = fork->position;
    }
    session.post(sql::copy_run, run, origin.run, forked_at, scope.now);
    add_triggered(session, run, origin.audit, scope.now);
    session.post(sql::copy_tags, run, origin.run);
    session.post(sql::copy_steps, run, origin.run, before_position);
    return run;
}

FoundWorkflow require_workflow(Session& session, const std::string& name) {
    using Row = sql::row::WorkflowId;
    Rows rows = session.query(sql::workflow_id, std::string_view(name));
    if (rows.next())
        return {
            rows.id<QueueId>(Row::workflow_id),
            rows.flag(Row::is_flow),
            to_audit_level(rows.text(Row::audit))};
    throw Error(
        ErrorCode::workflow_not_found, fmt::format(model::texts::workflow_missing, name, name)
    );
}

}  // namespace pawl::rowstore
