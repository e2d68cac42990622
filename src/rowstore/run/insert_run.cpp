#include "rowstore/run/insert_run.h"

#include <fmt/format.h>
#include <unordered_map>

#include "model/texts.h"
#include "rowstore/flow/insert_flow_run.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

using seam::Triggered;

namespace {

// One writer at a time: nobody can take the key between the look and the insert.
RunId run_of_key(Session& session, QueueId workflow, const std::optional<std::string>& key) {
    if (!key) return {};
    Rows rows = session.query(sql::run_of_key, workflow, std::string_view(*key));
    return rows.next() ? rows.id<RunId>(0) : RunId();
}

RunId insert_run_message(
    Session& session, QueueId workflow, int priority, Timestamp at, Timestamp now
) {
    const std::string_view state = at > now ? "waiting" : "ready";
    return RunId(session.insert(
        sql::insert_message,
        workflow,
        priority,
        state,
        std::max(at, now),
        now,
        std::string_view("null")
    ));
}

RunId insert_code_first_run(
    WriteScope& scope,
    const FoundWorkflow& workflow,
    std::string_view input,
    const TriggerOptions& options
) {
    Session& session = scope.session;
    const Timestamp at = options.at.value_or(scope.now + options.delay);
    const RunId run = insert_run_message(session, workflow.id, options.priority, at, scope.now);
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

}  // namespace

std::vector<Triggered> insert_runs(
    WriteScope& scope, std::span<const NewRun> runs, BadInput bad_input
) {
    std::vector<Triggered> triggered;
    triggered.reserve(runs.size());
    std::unordered_map<std::string_view, FoundWorkflow> workflows;
    for (const NewRun& run : runs) {
        FoundWorkflow& workflow = workflows[run.workflow];
        if (workflow.id) continue;
        workflow = require_workflow(scope.session, run.workflow);
        scope.wakeups.add(workflow.id);
    }
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
        Rows rows = scope.session.query(sql::dead_letter, failed);
        if (!rows.next()) return;
        workflow = {rows.id<QueueId>(0), rows.flag(3), to_audit_level(rows.text(4))};
        input = fmt::format(
            R"({{"run_id":{},"workflow":"{}","input":{},"error":{}}})",
            failed.value(),
            rows.text(1),
            rows.text(2),
            error
        );
    }
    TriggerOptions options;
    options.parent = failed;
    // A flow's may fail on the spot, and comes here again: chains of dead letter workflows end.
    if (insert_run(scope, workflow, input, options, BadInput::fails_the_run).created)
        scope.wakeups.add(workflow.id);
}

RunId copy_run(WriteScope& scope, const CopiedRun& origin, const std::optional<ForkPoint>& fork) {
    Session& session = scope.session;
    const RunId run =
        insert_run_message(session, origin.workflow, origin.priority, scope.now, scope.now);
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
    Rows rows = session.query(sql::workflow_id, std::string_view(name));
    if (rows.next()) return {rows.id<QueueId>(0), rows.flag(1), to_audit_level(rows.text(2))};
    throw Error(ErrorCode::workflow_not_found, fmt::format(model::texts::workflow_missing, name));
}

}  // namespace pawl::rowstore
