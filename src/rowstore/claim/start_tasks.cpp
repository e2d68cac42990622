#include "rowstore/claim/start_tasks.h"

#include "model/event_data.h"
#include "model/event_kinds.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

void TaskStarter::prefetch(const TaskKey& key) {
    Session& session = scope_.session;
    if (session.round_trips() == RoundTrips::free) return;
    session.prefetch(sql::claimed_task, key.run, key.step, key.task);
    const FlowPlan& plan = scope_.flows.get(session, key.workflow);
    if (plan.step(key.step).type != StepType::single) return;
    for (const int dep : plan.deps_of(key.step))
        session.prefetch(sql::flow_step, key.run, std::string_view(plan.slug(dep)));
}

std::optional<seam::ClaimedTask> TaskStarter::start(const TaskKey& key, Message& message) {
    Session& session = scope_.session;
    seam::ClaimedTask claimed;
    std::optional<int> max_attempts;
    bool starts_run = false;
    bool continues_run = false;  // on another worker
    {
        using Row = sql::row::ClaimedTask;
        Rows rows = session.query(sql::claimed_task, key.run, key.step, key.task);
        if (!rows.next()) return std::nullopt;
        claimed.attempts = rows.number(Row::attempts) + 1;
        starts_run = rows.text(Row::run_status) == to_string(RunStatus::queued);
        continues_run = rows.id<WorkerId>(Row::worker_id) != worker_;
        if (!rows.null(Row::max_attempts)) max_attempts = rows.number(Row::max_attempts);
        message.payload.text = rows.text(Row::input);
    }
    session.post(
        sql::start_task, key.run, key.step, key.task, message.delivery, worker_, scope_.now
    );
    if (starts_run || continues_run)
        session.post(
            starts_run ? sql::start_flow_run : sql::start_run, key.run, worker_, scope_.now
        );

    const FlowPlan& plan = scope_.flows.get(session, key.workflow);
    claimed.task = {key.run, plan.slug(key.step), key.task};
    if (model::is_audited(plan.audit, model::EventKind::task_started)) {
        const std::string data = model::event_data(
            {.step = claimed.task.step, .task_index = key.task, .attempt = claimed.attempts}
        );
        session.post(
            sql::add_event,
            key.run,
            to_string(model::EventKind::task_started),
            std::string_view(data),
            worker_,
            message.delivery,
            scope_.now
        );
    }
    claimed.max_attempts = plan.max_attempts(key.step, max_attempts);
    claimed.timeout = plan.timeout(key.step);
    if (plan.step(key.step).type == StepType::single) {
        std::string input = R"({"run":)" + message.payload.text;
        append_outputs(session, plan, key.run, key.step, input);
        input += '}';
        message.payload.text = std::move(input);
    }
    return claimed;
}

}  // namespace pawl::rowstore
