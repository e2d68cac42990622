#include <algorithm>
#include <fmt/format.h>
#include <pawl/store.h>
#include <pawl/workflow.h>

#include "engine/reconnect.h"
#include "engine/worker_watch.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl {

using engine::retrying;
using seam::Triggered;

namespace {

void check_runs(std::span<const NewRun> runs, const ConnectOptions& options) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
        try {
            model::check_new_run(runs[i], options.max_payload_bytes);
        } catch (const Error& error) {
            throw Error(
                error.code(),
                runs.size() == 1 ? fmt::format("workflow '{}': {}", runs[i].workflow, error.what())
                                 : fmt::format(
                                       "item {} of the batch, workflow '{}': {}",
                                       i,
                                       runs[i].workflow,
                                       error.what()
                                   )
            );
        }
    }
}

std::vector<Run> handles(const Store& store, const std::vector<Triggered>& triggered) {
    std::vector<Run> runs;
    runs.reserve(triggered.size());
    for (const Triggered& run : triggered) runs.emplace_back(store.backend(), run.run, run.created);
    return runs;
}

// Runs that were made by Flow::start() say that the flow is missing.
template <class Make>
auto for_flows(std::span<const NewRun> runs, Make make) {
    try {
        return make();
    } catch (const Error& error) {
        if (error.code() != ErrorCode::workflow_not_found) throw;
        const std::string& name = runs.front().workflow;
        const bool one_flow = std::ranges::all_of(runs, [&](const NewRun& run) {
            return run.flow && run.workflow == name;
        });
        if (!one_flow) throw;
        throw Error(ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, name));
    }
}

// A trigger in doubt may only be repeated where every run has a key.
std::vector<Triggered> trigger(seam::Backend& backend, std::span<const NewRun> runs) {
    bool keyed = true;
    for (const NewRun& run : runs) keyed = keyed && run.options.idempotency_key;
    engine::Retry retry(backend);
    while (true) {
        try {
            return backend.trigger(runs);
        } catch (const Error& error) {
            if (error.in_doubt() && keyed ? !retry.wait(error) : !retry.again(error)) throw;
        }
    }
}

}  // namespace

std::vector<Run> execute_many(std::span<const NewRun> runs, const Store& store) {
    seam::Backend& backend = *store.backend();
    check_runs(runs, backend.options());
    if (runs.empty()) return {};
    auto made = handles(store, for_flows(runs, [&] { return trigger(backend, runs); }));
    store.worker_watch().triggered(runs);
    return made;
}

std::vector<Run> execute_many(std::span<const Trigger> triggers, const Store& store) {
    std::vector<NewRun> runs;
    runs.reserve(triggers.size());
    for (const Trigger& trigger : triggers) runs.push_back(trigger.run());
    return execute_many(std::span<const NewRun>(runs), store);
}

std::vector<Run> execute_many_in(
    Transaction transaction, std::span<const NewRun> runs, const Store& store
) {
    check_runs(runs, store.backend()->options());
    if (runs.empty()) return {};
    return handles(store, for_flows(runs, [&] {
                       return store.backend()->trigger_in(transaction, runs);
                   }));
}

Run Trigger::execute(const Store& store) const {
    return execute_many(std::span(&run_, 1), store).front();
}

Run Trigger::execute_in(Transaction transaction, const Store& store) const {
    return execute_many_in(transaction, std::span(&run_, 1), store).front();
}

Json WaitingTrigger::execute_json(const Store& store) const {
    return execute_many(std::span(&run_, 1), store).front().wait_json(timeout_);
}

Run WorkflowRef::get_run(RunId id, const Store& store) const {
    const RunInfo info = store.get_run(id);
    if (info.workflow != name_)
        throw Error(
            ErrorCode::run_not_found,
            fmt::format(
                "run {} is one of workflow '{}', not of '{}'", id.value(), info.workflow, name_
            )
        );
    return store.run(id);
}

WorkflowMetrics workflow_metrics(const std::string& workflow, const Store& store, Duration window) {
    if (window <= Duration::zero())
        throw Error(ErrorCode::invalid_argument, "the window must be above 0");
    model::check_delay("the window", window);
    seam::Backend& backend = *store.backend();
    return retrying(backend, [&] { return backend.workflow_metrics(workflow, window); });
}

// --- the store's part ---

WorkflowInfo Store::create_workflow(const std::string& name, const WorkflowOptions& options) const {
    model::check_name("workflow", name);
    model::check_workflow_options(name, options);
    retrying(*backend_, [&] { return backend_->create_workflow(name, options); });
    return workflow(name);
}

std::vector<WorkflowInfo> Store::workflows() const {
    return retrying(*backend_, [&] { return backend_->workflows(std::nullopt); });
}

WorkflowInfo Store::workflow(const std::string& name) const {
    auto found = retrying(*backend_, [&] { return backend_->workflows(name); });
    if (!found.empty()) return std::move(found.front());
    throw Error(ErrorCode::workflow_not_found, fmt::format(model::texts::workflow_missing, name));
}

void Store::delete_workflow(const std::string& name) const {
    retrying(*backend_, [&] { return backend_->delete_workflow(name); });
}

}  // namespace pawl
