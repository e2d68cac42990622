// What the store does with runs.
#include <algorithm>
#include <fmt/format.h>
#include <pawl/store.h>

#include "engine/reconnect.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/history.h"
#include "model/rules.h"
#include "model/similar.h"
#include "seam/backend.h"

namespace pawl {

using engine::retrying;

namespace {

std::vector<std::string> waiting_steps(seam::Backend& backend, RunId run) {
    std::vector<std::string> ids;
    for (StepInfo& step : retrying(backend, [&] { return backend.steps(run); })) {
        if (step.status == StepStatus::paused && !step.wake_at) ids.push_back(std::move(step.id));
    }
    return ids;
}

}  // namespace

RunInfo Store::get_run(RunId id) const {
    return run(id).info();
}

std::vector<RunInfo> Store::runs(const RunFilter& filter, const RunPage& page) const {
    model::check_run_page(page);
    return retrying(*backend_, [&] { return backend_->list_runs(filter, page); });
}

RunCounts Store::count_runs(const RunFilter& filter, std::int64_t limit) const {
    constexpr std::int64_t most = model::rules::max_count_limit;
    if (limit < 1 || limit > most)
        model::refuse(fmt::format("the limit of a count must be 1 to {}", most));
    return retrying(*backend_, [&] { return backend_->count_runs(filter, limit); });
}

std::vector<StepInfo> Store::steps(RunId id) const {
    return run(id).steps();
}

StepInfo Store::step(RunId run, const std::string& id) const {
    auto all = steps(run);
    const auto found = std::ranges::find(all, id, &StepInfo::id);
    if (found != all.end()) return std::move(*found);
    throw Error(
        ErrorCode::step_not_found, fmt::format("run {} has no step '{}' recorded", run.value(), id)
    );
}

std::vector<RunEvent> Store::events(RunId run) const {
    auto events = retrying(*backend_, [&] { return backend_->events(run); });
    if (events.empty()) (void)get_run(run);  // says that there is no such run
    return events;
}

std::vector<HistoryEntry> Store::history(RunId run) const {
    model::RunRows rows{get_run(run), steps(run), {}};
    if (rows.run.remaining_steps) rows.tasks = tasks(run);
    return model::merge_history(rows, events(run));
}

std::vector<RunInfo> Store::lineage(RunId run) const {
    auto family = retrying(*backend_, [&] { return backend_->lineage(run); });
    if (family.empty()) (void)get_run(run);
    return family;
}

void Store::resume(
    RunId run, const std::string& step, const Json& data, const ResumeOptions& options
) const {
    model::check_recorded_step_id(step);
    model::check_size("the data", data.text.size(), backend_->options().max_payload_bytes);
    model::check_json(data.text);
    try {
        retrying(*backend_, [&] { return backend_->resume(run, step, data, options); });
    } catch (const Error& error) {
        if (error.code() != ErrorCode::step_not_waiting) throw;
        const auto similar = model::most_similar(step, waiting_steps(*backend_, run));
        if (!similar) throw;
        throw Error(error.code(), fmt::format("{}; did you mean '{}'?", error.what(), *similar));
    }
}

void Store::cancel(RunId run, const std::string& reason) const {
    const std::string kept = model::storable_text(reason);
    retrying(*backend_, [&] { return backend_->cancel(run, kept); });
}

void Store::wake(RunId run) const {
    retrying(*backend_, [&] { return backend_->wake(run); });
}

Run Store::retry(RunId run) const {
    return {backend_, retrying(*backend_, [&] { return backend_->retry(run); }), true};
}

Run Store::fork(RunId run, const std::string& from_step) const {
    model::check_recorded_step_id(from_step);
    return {backend_, retrying(*backend_, [&] { return backend_->fork(run, from_step); }), true};
}

void Store::delete_run(RunId run, const std::string& reason) const {
    const std::string kept = model::storable_text(reason);
    retrying(*backend_, [&] { return backend_->delete_run(run, kept); });
}

}  // namespace pawl
