#include "sqlite/new_run.h"

#include <fmt/format.h>
#include <unordered_map>

#include "generated/sqlite_sql.h"

namespace pawl::sqlite {

using store::Triggered;

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
    session.execute(
        sql::insert_message,
        workflow,
        priority,
        state,
        std::max(at, now),
        now,
        std::string_view("null")
    );
    return RunId(session.last_id());
}

Triggered insert_run(
    Session& session,
    QueueId workflow,
    std::string_view input,
    const TriggerOptions& options,
    Timestamp now
) {
    if (const RunId earlier = run_of_key(session, workflow, options.idempotency_key))
        return {earlier, false};
    const Timestamp at = options.at.value_or(now + options.delay);
    const RunId run = insert_run_message(session, workflow, options.priority, at, now);
    session.execute(
        sql::insert_run,
        run,
        workflow,
        options.priority,
        options.max_attempts,
        options.parent,
        options.idempotency_key,
        now,
        input
    );
    for (const std::string& tag : options.tags)
        session.execute(sql::insert_tag, std::string_view(tag), run);
    return {run, true};
}

}  // namespace

std::vector<Triggered> insert_runs(
    Session& session, std::span<const NewRun> runs, Timestamp now, Wakeups& wakeups
) {
    std::vector<Triggered> triggered;
    triggered.reserve(runs.size());
    std::unordered_map<std::string_view, QueueId> workflows;
    for (const NewRun& run : runs) {
        QueueId& workflow = workflows[run.workflow];
        if (!workflow) {
            workflow = require_workflow(session, run.workflow);
            wakeups.add(workflow);
        }
        triggered.push_back(insert_run(session, workflow, run.input.text, run.options, now));
    }
    return triggered;
}

void insert_dead_letter_run(
    Session& session, RunId failed, std::string_view error, Timestamp now, Wakeups& wakeups
) {
    QueueId workflow;
    std::string input;
    {
        Rows rows = session.query(sql::dead_letter, failed);
        if (!rows.next()) return;
        workflow = rows.id<QueueId>(0);
        input = fmt::format(
            R"({{"run_id":{},"workflow":"{}","input":{},"error":{}}})",
            failed.value(),
            rows.text(1),
            rows.text(2),
            error
        );
    }
    TriggerOptions options;
    options.idempotency_key = fmt::format("dead_letter:{}", failed.value());
    options.parent = failed;
    if (insert_run(session, workflow, input, options, now).created) wakeups.add(workflow);
}

RunId copy_run(
    Session& session, const CopiedRun& origin, const std::optional<ForkPoint>& fork, Timestamp now
) {
    const RunId run = insert_run_message(session, origin.workflow, origin.priority, now, now);
    std::optional<std::string_view> forked_at;
    std::optional<std::int64_t> before_position;
    if (fork) {
        forked_at = fork->step;
        before_position = fork->position;
    }
    session.execute(sql::copy_run, run, origin.run, forked_at, now);
    session.execute(sql::copy_tags, run, origin.run);
    session.execute(sql::copy_steps, run, origin.run, before_position);
    return run;
}

QueueId require_workflow(Session& session, const std::string& name) {
    Rows rows = session.query(sql::workflow_id, std::string_view(name));
    if (rows.next()) return rows.id<QueueId>(0);
    throw Error(
        ErrorCode::workflow_not_found,
        fmt::format("workflow '{}' does not exist: create it first", name)
    );
}

}  // namespace pawl::sqlite
