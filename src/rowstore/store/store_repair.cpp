#include <limits>

#include "model/event_kinds.h"
#include "model/flow.h"
#include "model/rules.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"
#include "rowstore/store/row_store.h"

namespace pawl::rowstore {

using seam::LostPage;
using seam::LostPosition;

namespace {

struct LostTask {
    int step = 0;
    int task = 0;
    std::string slug;
};

std::vector<LostTask> lost_tasks(Session& session, RunId run) {
    std::vector<LostTask> lost;
    using Row = sql::row::LostTasks;
    Rows rows = session.query(sql::lost_tasks, run);
    while (rows.next())
        lost.push_back(
            {rows.number(Row::step_index),
             rows.number(Row::task_index),
             std::string(rows.text(Row::step_slug))}
        );
    return lost;
}

LostPage find_lost(Session& session, const LostPosition& after, int max_runs) {
    LostPage page;
    std::vector<std::pair<RunId, std::string>> of_flows;
    {
        using Row = sql::row::LiveRunsPage;
        Rows rows =
            session.query(sql::live_runs_page, after.workflow.value(), after.run.value(), max_runs);
        for (; rows.next(); ++page.looked) {
            page.last = {rows.id<QueueId>(Row::workflow_id), rows.id<RunId>(Row::run_id)};
            const std::string workflow(rows.text(Row::workflow));
            if (rows.flag(Row::is_flow)) of_flows.emplace_back(page.last.run, workflow);
            if (rows.flag(Row::is_lost)) page.lost.push_back({page.last.run, workflow, {}, 0});
        }
    }
    for (const auto& [run, flow] : of_flows) {
        for (LostTask& task : lost_tasks(session, run))
            page.lost.push_back({run, flow, std::move(task.slug), task.task});
    }
    return page;
}

void restore_task(WriteScope& scope, RunId run, const FlowPlan& plan, const LostTask& task) {
    std::optional<std::int64_t> lease_ms;
    if (const auto timeout = plan.timeout(task.step))
        lease_ms = (*timeout + model::rules::task_grace).count();
    scope.session.post(sql::restore_task_message, run, task.step, task.task, lease_ms, scope.now);
    scope.session.post(sql::queue_restored_task, run, task.step, task.task);
}

void restore(WriteScope& scope, RunId run) {
    const RunState state = require_live_run(scope.session, run);
    if (state.is_flow) {
        const FlowPlan& plan = scope.flows.get(scope.session, state.workflow);
        for (const LostTask& task : lost_tasks(scope.session, run))
            restore_task(scope, run, plan, task);
    } else {
        scope.session.post(sql::restore_run_message, run, scope.now);
    }
    add_event(scope.session, state, model::EventKind::repaired, "{}", scope.now);
    scope.wakeups.add(state.workflow);
}

}  // namespace

bool is_lost(Session& session, const RunState& run) {
    if (run.is_flow) return !lost_tasks(session, run.id).empty();
    return !session.query(sql::has_message, run.id).next();
}

LostPage RowStore::find_lost_work(const LostPosition& after, int max_runs) {
    return read([&](Session& session) { return find_lost(session, after, max_runs); });
}

// One transaction: other writers wait for it, but it reads only live runs.
std::vector<LostWork> RowStore::repair() {
    return change([&](WriteScope& scope) {
        auto lost = find_lost(scope.session, {}, std::numeric_limits<int>::max()).lost;
        RunId last;
        for (const LostWork& work : lost) {
            if (work.run != last) restore(scope, work.run);
            last = work.run;
        }
        return lost;
    });
}

}  // namespace pawl::rowstore
