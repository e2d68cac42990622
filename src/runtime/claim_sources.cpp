#include "runtime/claim_sources.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

#include "engine/reconnect.h"
#include "model/rules.h"

namespace pawl::runtime {

namespace {

constexpr Duration refresh_every = 1s;

}  // namespace

ClaimSources::ClaimSources(
    seam::Engine& backend,
    const WorkerOptions& options,
    const std::atomic<WorkerId>& worker,
    WorkLog& log
)
    : backend_(backend), options_(options), worker_(worker), log_(log) {
    bool runs = false;
    std::set<int> batch_sizes;  // of message handlers; runs are not batched
    bool tasks = false;
    for (const HandlerSpec& spec : options.handlers) {
        names_.push_back(spec.queue);
        if (spec.workflow) runs = true;
        if (spec.flow) {
            tasks = true;
        } else {
            batch_sizes.insert(spec.batch_size);
        }
    }
    handles_workflows_ = runs || tasks;
    for (const int size : batch_sizes)
        add(runs && size == 1 ? seam::Work::runs : seam::Work::messages, size);
    if (tasks) add(seam::Work::tasks, 1);
    for (const HandlerSpec& spec : options.handlers) {
        if (spec.flow) add_partial(spec);
    }
}

ClaimSource& ClaimSources::add(seam::Work work, int batch_size) {
    sources_.push_back({work, batch_size, engine::ClaimStream(backend_, worker_, options_.lease)});
    sources_.back().stream.set_work(work);
    return sources_.back();
}

void ClaimSources::add_partial(const HandlerSpec& spec) {
    const auto shape = engine::retrying(backend_, [&] { return backend_.flow_shape(spec.queue); });
    if (!shape) return;
    const auto& handlers = spec.flow->entries();
    std::vector<std::string> handled;
    std::vector<std::string> others;
    for (const FlowStep& step : shape->steps)
        (handlers.contains(step.slug) ? handled : others).push_back(step.slug);
    if (others.empty()) return;
    backend_.log().info(fmt::format(
        "worker '{}' does not claim tasks of these steps of flow '{}', it has no handlers for "
        "them: "
        "{}",
        options_.name,
        spec.queue,
        fmt::join(others, ", ")
    ));
    ClaimSource& source = add(seam::Work::tasks, 1);
    source.only = &spec;
    source.stream.set_steps(std::move(handled));
}

bool ClaimSources::takes(const ClaimSource& source, const HandlerSpec& spec) const {
    const auto is_its_own = [&](const ClaimSource& other) { return other.only == &spec; };
    if (source.only != nullptr || std::ranges::any_of(sources_, is_its_own))
        return source.only == &spec;
    return (source.work == seam::Work::tasks) == (spec.flow != nullptr) &&
           source.batch_size == spec.batch_size;
}

std::vector<ClaimSource*> ClaimSources::next_turn() {
    const std::size_t first = turn_++;
    std::vector<ClaimSource*> order;
    for (std::size_t i = 0; i < sources_.size(); ++i)
        order.push_back(&sources_[(first + i) % sources_.size()]);
    return order;
}

const HandlerSpec* ClaimSources::handler_of(QueueId queue) const {
    const auto spec = specs_.find(queue);
    return spec == specs_.end() ? nullptr : spec->second;
}

// A queue may be deleted and created again under the same name, so names are resolved regularly.
void ClaimSources::refresh() {
    if (Clock::now() - refreshed_at_ < refresh_every) return;
    const auto ids = backend_.resolve_queues(names_);
    Specs specs;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i]) specs[ids[i]] = &options_.handlers[i];
    }
    if (handles_workflows_) {
        refresh_workflows(specs);
        std::erase_if(specs, [&](const auto& entry) {
            return !can_handle(entry.first, *entry.second);
        });
    }
    if (specs.size() < names_.size() &&
        (specs_.size() != specs.size() || refreshed_at_ == Clock::time_point{}))
        log_.write(LogLevel::warning, "some of its queues do not exist");
    specs_ = std::move(specs);
    queues_.clear();
    for (ClaimSource& source : sources_) {
        std::vector<QueueId> queues;
        for (const QueueId id : ids) {
            const auto spec = specs_.find(id);
            if (spec != specs_.end() && takes(source, *spec->second)) queues.push_back(id);
        }
        queues_.insert(queues_.end(), queues.begin(), queues.end());
        source.stream.set_queues(std::move(queues));
    }
    topics_.assign(queues_.begin(), queues_.end());
    refreshed_at_ = Clock::now();
}

// The options of workflows may be changed while the worker runs.
void ClaimSources::refresh_workflows(const Specs& specs) {
    std::unordered_map<QueueId, std::shared_ptr<const WorkflowInfo>> workflows;
    for (WorkflowInfo& info : backend_.workflows_named(names_)) {
        const QueueId queue = info.queue;
        if (specs.contains(queue))
            workflows.emplace(queue, std::make_shared<const WorkflowInfo>(std::move(info)));
    }
    workflows_ = std::move(workflows);
}

// A queue that was created later, or again, may carry something that the worker does not handle.
bool ClaimSources::can_handle(QueueId queue, const HandlerSpec& spec) const {
    const auto workflow = workflows_.find(queue);
    if (workflow == workflows_.end()) return !spec.flow;
    return workflow->second->is_flow ? spec.flow != nullptr : static_cast<bool>(spec.workflow);
}

std::shared_ptr<const WorkflowInfo> ClaimSources::workflow_of(
    QueueId queue, const HandlerSpec& spec
) {
    auto& info = workflows_[queue];
    if (info) return info;
    // Created between two refreshes: the defaults apply until the next one.
    WorkflowInfo defaults;
    defaults.queue = queue;
    defaults.name = spec.queue;
    defaults.backoff_base = model::rules::default_backoff_base;
    defaults.backoff_cap = model::rules::default_backoff_cap;
    return info = std::make_shared<const WorkflowInfo>(std::move(defaults));
}

}  // namespace pawl::runtime
