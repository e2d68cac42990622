#include "rowstore/claim/start_runs.h"

#include "model/enum_names.h"
#include "model/event_kinds.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

std::optional<seam::ClaimedRun> RunStarter::start(Message& message, AuditLevel audit) {
    const RunId id(message.id.value());
    seam::ClaimedRun run;
    bool running = false;
    bool paused = false;
    bool has_steps = message.delivery > 1;
    {
        Rows rows = session_.query(sql::claimed_run, id);
        if (!rows.next()) return std::nullopt;
        if (!rows.null(0)) run.max_attempts = rows.number(0);
        run.started_at = rows.null(1) ? now_ : rows.time(1);
        has_steps = has_steps || rows.flag(2);
        running = rows.text(3) == to_string(RunStatus::running);
        paused = rows.text(3) == to_string(RunStatus::paused);
        message.payload.text = rows.text(4);
    }
    if (!running)
        session_.post(paused ? sql::continue_paused_run : sql::start_run, id, worker_, now_);
    if (model::is_audited(audit, model::EventKind::started)) {
        session_.post(
            sql::add_event,
            id,
            to_string(model::EventKind::started),
            std::string_view("{}"),
            worker_,
            message.delivery,
            now_
        );
    }
    if (has_steps) load_steps(id, run);
    return run;
}

// False if the budget is used up, or a status is unknown: then recorded_steps() throws that again
// for this run alone, and the other runs of the claim are executed.
bool RunStarter::read_steps(RunId id, seam::ClaimedRun& run) {
    Rows rows = session_.query(sql::recorded_steps, id);
    try {
        while (bytes_left_ >= 0 && rows.next()) {
            const auto& step = run.steps.emplace_back(read_recorded_step(rows));
            bytes_left_ -= static_cast<std::int64_t>(step.output.size() + step.error.size());
        }
    } catch (const model::UnknownWord&) {
        return false;
    }
    return bytes_left_ >= 0;
}

// The run that is over the budget ends it: so the first ones, which are executed first, come whole.
void RunStarter::load_steps(RunId id, seam::ClaimedRun& run) {
    if (bytes_left_ >= 0 && read_steps(id, run)) return;
    run.steps.clear();
    run.steps_loaded = false;
}

seam::ReplayStep read_recorded_step(const Rows& rows) {
    seam::ReplayStep step;
    step.id = rows.text(0);
    step.position = rows.number(1);
    step.status = to_step_status(rows.text(2));
    step.attempt = rows.number(3);
    if (step.status == StepStatus::success) step.output = rows.text(4);
    if (step.status == StepStatus::error) step.error = rows.text(5);
    if (!rows.null(6)) step.wake_at = rows.time(6);
    return step;
}

}  // namespace pawl::rowstore
