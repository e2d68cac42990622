#include "rowstore/claim/start_tasks.h"

#include "model/event_data.h"
#include "model/event_kinds.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

std::optional<seam::ClaimedTask> TaskStarter::start(const TaskKey& key, Message& message) {
    Session& session = scope_.session;
    seam::ClaimedTask claimed;
    std::optional<int> max_attempts;
    bool starts_run = false;  // or goes on with it, after another worker
    {
        Rows rows = session.query(sql::claimed_task, key.run, key.step, key.task);
        if (!rows.next()) return std::nullopt;
        claimed.attempts = rows.number(0) + 1;
        starts_run =
            rows.text(1) == to_string(RunStatus::queued) || rows.id<WorkerId>(4) != worker_;
        if (!rows.null(2)) max_attempts = rows.number(2);
        message.payload.text = rows.text(3);
    }
    session.post(
        sql::start_task, key.run, key.step, key.task, message.delivery, worker_, scope_.now
    );
    if (starts_run) session.post(sql::start_run, key.run, worker_, scope_.now);

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
