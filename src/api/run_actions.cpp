// The handle of a run: calls that change it.
#include <algorithm>
#include <fmt/format.h>
#include <pawl/run.h>

#include "base/similar.h"
#include "engine/open_store.h"
#include "model/check.h"
#include "model/check_run.h"

namespace pawl::inline v0 {

namespace {

// The steps that wait for a resume, without the one that was refused: it may wait by now.
std::vector<std::string> waiting_steps(const Run& run, std::string_view refused) {
    std::vector<std::string> ids;
    for (StepInfo& step : run.steps()) {
        const bool waits = step.waits_for && step.waits_for->kind == WaitKind::resume;
        if (waits && step.id != refused) ids.push_back(std::move(step.id));
    }
    return ids;
}

}  // namespace

void Run::resume(std::string_view step, const Json& data, const ResumeOptions& options) const {
    const std::string id(step);
    model::check_recorded_step_id(id);
    model::check_size("the data", data.text.size(), store_->backend()->options().max_payload_bytes);
    model::check_json(data.text);
    try {
        store_->retrying([&](auto& backend) { return backend.resume(id_, id, data, options); });
    } catch (const Error& error) {
        if (error.code() != ErrorCode::step_not_waiting) throw;
        const auto similar = base::most_similar(id, waiting_steps(*this, id));
        if (!similar) throw;
        throw Error(error.code(), fmt::format("{}; did you mean '{}'?", error.what(), *similar));
    }
}

void Run::cancel(std::string_view reason) const {
    const std::string kept = model::storable_text(std::string(reason));
    store_->retrying([&](auto& backend) { return backend.cancel(id_, kept); });
}

void Run::wake() const {
    store_->retrying([&](auto& backend) { return backend.wake(id_); });
}

Run Run::retry() const {
    return {store_, store_->retrying([&](auto& backend) { return backend.retry(id_); }), true};
}

Run Run::fork(std::string_view from_step) const {
    const std::string id(from_step);
    model::check_recorded_step_id(id);
    return {store_, store_->retrying([&](auto& backend) { return backend.fork(id_, id); }), true};
}

void Run::soft_delete(std::string_view reason) const {
    const std::string kept = model::storable_text(std::string(reason));
    store_->retrying([&](auto& backend) { return backend.delete_run(id_, kept); });
}

}  // namespace pawl::inline v0
