#include "rowstore/claim/start_runs.h"

#include "model/enum_names.h"
#include "model/event_kinds.h"
#include "rowstore/run/run_lookup.h"
#include "rowstore/statements.h"

namespace pawl::rowstore {

RunStarter::RunRow RunStarter::read_row(const Rows& rows) {
    using Row = store::row::ClaimedRun;
    RunRow row;
    if (!rows.null(Row::max_attempts)) row.max_attempts = rows.number(Row::max_attempts);
    row.started_at = rows.optional_time(Row::started_at);
    row.is_copy = rows.flag(Row::is_copy);
    const std::string_view status = rows.text(Row::status);
    row.running = status == to_string(RunStatus::running);
    row.paused = status == to_string(RunStatus::paused);
    return row;
}

void RunStarter::read_ahead(Rows&& rows) {
    using Row = store::row::ClaimedRun;
    while (rows.next())
        kept_.try_emplace(
            rows.id<RunId>(Row::run_id), KeptRow{read_row(rows), std::string(rows.text(Row::input))}
        );
}

void RunStarter::prefetch(RunId run) {
    const bool announced = kept_.contains(run) || !announced_.insert(run).second;
    if (!announced) session_.prefetch(sql::claimed_run, run);
}

std::optional<RunStarter::RunRow> RunStarter::find(RunId run, Message& message) {
    const auto kept = kept_.find(run);
    if (kept != kept_.end()) {
        message.payload.text = std::move(kept->second.input);
        return kept->second.row;
    }
    Rows rows = session_.query(sql::claimed_run, run);
    if (!rows.next()) return std::nullopt;
    message.payload.text = rows.text(store::row::ClaimedRun::input);
    return read_row(rows);
}

std::optional<seam::ClaimedRun> RunStarter::start(
    std::size_t index, Message& message, AuditLevel audit
) {
    const RunId id(message.id.value());
    const auto row = find(id, message);
    if (!row) return std::nullopt;
    seam::ClaimedRun run;
    run.max_attempts = row->max_attempts;
    run.started_at = row->started_at.value_or(now_);
    if (!row->running)
        session_.post(row->paused ? sql::continue_paused_run : sql::start_run, id, worker_, now_);
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
    if (message.delivery > 1 || row->is_copy) worked_on_.push_back({index, id});
    return run;
}

void RunStarter::load_steps(std::vector<std::optional<seam::ClaimedRun>>& runs) {
    for (const WorkedOn& one : worked_on_) session_.prefetch(sql::recorded_steps, one.run);
    for (const WorkedOn& one : worked_on_) load_steps(one.run, *runs[one.index]);
}

// Returns false if the byte budget is used up, or if a status is unknown: then recorded_steps()
// throws for this run alone, and the other runs of the claim are executed.
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

// The run that exceeds the budget ends the loading, so the first runs, which are executed first,
// are complete.
void RunStarter::load_steps(RunId id, seam::ClaimedRun& run) {
    if (bytes_left_ >= 0 && read_steps(id, run)) return;
    run.steps.clear();
    run.steps_loaded = false;
}

seam::ReplayStep read_recorded_step(const Rows& rows) {
    seam::ReplayStep step;
    using Row = sql::row::RecordedSteps;
    step.id = rows.text(Row::step_id);
    step.position = rows.number(Row::position);
    step.status = to_step_status(rows.text(Row::status));
    step.attempt = rows.number(Row::attempt);
    if (step.status == StepStatus::success) step.output = rows.text(Row::output);
    if (step.status == StepStatus::error) step.error = rows.text(Row::error);
    if (!rows.null(Row::wake_at)) step.wake_at = rows.time(Row::wake_at);
    return step;
}

}  // namespace pawl::rowstore
