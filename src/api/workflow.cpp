#include <algorithm>
#include <fmt/format.h>
#include <pawl/compat.h>
#include <pawl/store.h>
#include <pawl/workflow.h>

#include "engine/access.h"
#include "engine/reconnect.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

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
    for (const Triggered& run : triggered)
        runs.push_back(detail::Access::run(store, run.run, run.created));
    return runs;
}

// For runs that Flow::start() triggers the error says that the flow is missing.
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
        throw Error(ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, name, name));
    }
}

// A trigger whose outcome is unknown is repeated only if every run has a key.
std::vector<Triggered> trigger_runs(seam::Backend& backend, std::span<const NewRun> runs) {
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

std::vector<Run> Store::trigger(std::span<const NewRun> runs) const {
    seam::Backend& backend = *store_->backend();
    check_runs(runs, backend.options());
    if (runs.empty()) return {};
    auto triggered = handles(*this, for_flows(runs, [&] { return trigger_runs(backend, runs); }));
    store_->worker_watch().triggered(runs, triggered);
    return triggered;
}

std::vector<Run> Store::trigger(std::span<const Trigger> triggers) const {
    std::vector<NewRun> runs;
    runs.reserve(triggers.size());
    for (const Trigger& trigger : triggers) runs.push_back(trigger.run());
    return trigger(std::span<const NewRun>(runs));
}

std::vector<Run> Store::trigger_in(Transaction transaction, std::span<const NewRun> runs) const {
    seam::Backend& backend = *store_->backend();
    check_runs(runs, backend.options());
    if (runs.empty()) return {};
    return handles(*this, for_flows(runs, [&] { return backend.trigger_in(transaction, runs); }));
}

namespace detail {

Run trigger_one(const NewRun& run, const Store& store) {
    return store.trigger(std::span(&run, 1)).front();
}

Run trigger_one_in(Transaction transaction, const NewRun& run, const Store& store) {
    return store.trigger_in(transaction, std::span(&run, 1)).front();
}

Run run_of_workflow(std::string_view workflow, RunId id, const Store& store) {
    const RunInfo info = store.run(id).info();
    if (info.workflow != workflow)
        throw Error(
            ErrorCode::run_not_found,
            fmt::format(
                "run {} belongs to workflow '{}', not to '{}'", id.value(), info.workflow, workflow
            )
        );
    return store.run(id);
}

}  // namespace detail

WorkflowMetrics Store::workflow_metrics(std::string_view workflow, Duration window) const {
    if (window <= Duration::zero())
        throw Error(ErrorCode::invalid_argument, "the window must be above 0");
    model::check_delay("the window", window);
    return store_->retrying([&](auto& backend) {
        return backend.workflow_metrics(std::string(workflow), window);
    });
}

WorkflowInfo Store::create_workflow(std::string_view workflow, const WorkflowOptions& options)
    const {
    const std::string name(workflow);
    model::check_name("workflow", name);
    model::check_workflow_options(name, options);
    store_->retrying([&](auto& backend) { return backend.create_workflow(name, options); });
    return workflow_info(name);
}

std::vector<WorkflowInfo> Store::workflows() const {
    return store_->retrying([&](auto& backend) { return backend.workflows(std::nullopt); });
}

WorkflowInfo Store::workflow_info(std::string_view name) const {
    auto found =
        store_->retrying([&](auto& backend) { return backend.workflows(std::string(name)); });
    if (!found.empty()) return std::move(found.front());
    throw Error(
        ErrorCode::workflow_not_found, fmt::format(model::texts::workflow_missing, name, name)
    );
}

void Store::delete_workflow(std::string_view name) const {
    store_->retrying([&](auto& backend) { return backend.delete_workflow(std::string(name)); });
}

}  // namespace pawl::inline v0
