#include <fmt/format.h>
#include <unordered_set>

#include "model/event_kinds.h"
#include "model/rules.h"
#include "model/texts.h"
#include "rowstore/commit/run_settler.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

namespace {

std::unordered_set<std::string> live_handlers(Session& session, Timestamp now) {
    std::unordered_set<std::string> handlers;
    Rows rows = session.query(sql::live_handlers, now);
    while (rows.next()) handlers.emplace(rows.text(0));
    return handlers;
}

struct Unhandled {
    QueueId workflow;
    std::string name;
};

std::vector<Unhandled> find_unhandled(
    Session& session, std::span<const std::string> prefixes, Timestamp now
) {
    std::vector<Unhandled> found;
    for (const std::string& prefix : prefixes) {
        using Row = sql::row::UnstartedWorkflows;
        Rows rows = session.query(sql::unstarted_workflows, std::string_view(prefix), now);
        while (rows.next())
            found.push_back({rows.id<QueueId>(Row::queue_id), std::string(rows.text(Row::workflow))}
            );
    }
    if (found.empty()) return found;
    const auto handlers = live_handlers(session, now);
    std::erase_if(found, [&](const Unhandled& workflow) {
        return handlers.contains(workflow.name);
    });
    return found;
}

std::vector<RunId> unstarted_runs(
    Session& session, QueueId workflow, Timestamp now, std::size_t n
) {
    std::vector<RunId> runs;
    Rows rows = session.query(sql::unstarted_runs, workflow, now, static_cast<std::int64_t>(n));
    while (rows.next()) runs.push_back(rows.id<RunId>(0));
    return runs;
}

void fail_unhandled_run(RunSettler& settler, const RunState& run) {
    settler.fail(
        run,
        model::EventKind::no_handler_registered,
        fmt::format(model::texts::no_live_handler, run.workflow_name)
    );
}

}  // namespace

bool RowStore::has_live_handler(const std::string& workflow) {
    return read([&](Session& session) {
        return live_handlers(session, current_time(session)).contains(workflow);
    });
}

// Usually there is nothing to do; the check takes no write lock.
std::vector<RunId> RowStore::fail_unhandled(std::span<const std::string> prefixes) {
    const bool nothing = read([&](Session& session) {
        return find_unhandled(session, prefixes, current_time(session)).empty();
    });
    if (nothing) return {};
    return change([&](WriteScope& scope) {
        RunSettler settler(scope);
        std::vector<RunId> runs;
        for (const Unhandled& workflow : find_unhandled(scope.session, prefixes, scope.now)) {
            const std::size_t left = model::rules::max_unhandled - runs.size();
            for (const RunId id :
                 unstarted_runs(scope.session, workflow.workflow, scope.now, left)) {
                const auto run = find_run_state(scope.session, id);
                if (!run || run->status != RunStatus::queued) continue;
                fail_unhandled_run(settler, *run);
                runs.push_back(id);
            }
        }
        return runs;
    });
}

}  // namespace pawl::rowstore
