// The calls of the store that concern flows.
#include "model/flow.h"

#include <algorithm>
#include <fmt/format.h>
#include <pawl/flow.h>
#include <pawl/store.h>

#include "engine/access.h"
#include "engine/reconnect.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

using engine::retrying;

namespace {

void check_shape(const FlowShape& shape) {
    model::check_flow_slug(shape.slug);
    model::check_flow_options(shape.slug, shape.options);
    for (std::size_t i = 0; i < shape.steps.size(); ++i) {
        model::check_flow_step(shape.slug, shape.steps[i]);
        model::check_flow_deps(shape.slug, shape.steps[i], std::span(shape.steps).first(i));
    }
}

[[noreturn]] void no_such_flow(const std::string& slug) {
    throw Error(ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, slug, slug));
}

std::optional<TaskInfo> find_task(seam::Backend& backend, const TaskRef& task) {
    const auto tasks = backend.tasks(task.run);
    const auto found = std::ranges::find(tasks, task, &TaskInfo::task);
    if (found == tasks.end()) return std::nullopt;
    return *found;
}

// A report whose answer was lost is sent again. If the first one had been recorded, the second one
// changes nothing. `recorded` returns whether the stored result is that of this report; the outcome
// is then `done`.
template <class Send, class Recorded>
TaskOutcome report(seam::Backend& backend, Send send, Recorded recorded) {
    engine::Retry retry(backend);
    bool in_doubt = false;
    while (true) {
        try {
            const TaskOutcome outcome = send();
            return in_doubt && recorded(outcome) ? TaskOutcome::done : outcome;
        } catch (Error& error) {
            in_doubt = in_doubt || error.in_doubt();
            if (error.retryable() && retry.wait(error)) continue;
            if (in_doubt) error.mark_in_doubt();
            throw;
        }
    }
}

}  // namespace

Flow& Flow::create(const Store& store) & {
    // Dependencies may be steps that are stored already, so they are not checked here.
    model::check_flow_slug(shape_.slug);
    model::check_flow_options(shape_.slug, shape_.options);
    for (const FlowStep& step : shape_.steps) model::check_flow_step(shape_.slug, step);
    retrying(*detail::Access::backend(store), [&] {
        detail::Access::backend(store)->create_flow_shape(shape_);
    });
    return *this;
}

void Store::create_flow(std::string_view flow, const FlowOptions& options) const {
    const std::string slug(flow);
    model::check_flow_slug(slug);
    model::check_flow_options(slug, options);
    store_->retrying([&](auto& backend) { backend.create_flow(slug, options); });
}

void Store::add_step(std::string_view slug, const FlowStep& step) const {
    const std::string flow(slug);
    model::check_flow_slug(flow);
    model::check_flow_step(flow, step);
    store_->retrying([&](auto& backend) { backend.add_step(flow, step); });
}

FlowShape Store::flow_shape(std::string_view flow) const {
    const std::string slug(flow);
    auto shape = store_->retrying([&](auto& backend) { return backend.flow_shape(slug); });
    if (!shape) no_such_flow(slug);
    return std::move(*shape);
}

EnsuredFlow Store::ensure_flow(const FlowShape& shape, EnsureMode mode) const {
    check_shape(shape);
    return store_->retrying([&](auto& backend) { return backend.ensure_flow(shape, mode); });
}

void Store::delete_flow_and_data(std::string_view slug, DeleteMode mode) const {
    store_->retrying([&](auto& backend) { backend.delete_flow(std::string(slug), mode); });
}

std::vector<TaskInfo> Run::tasks() const {
    auto tasks = store_->retrying([&](auto& backend) { return backend.tasks(id_); });
    if (tasks.empty()) (void)info();  // throws if there is no such run
    return tasks;
}

std::vector<Task> Store::poll_for_tasks(std::string_view slug, int max_tasks, Duration lease)
    const {
    const std::string flow(slug);
    constexpr int most = model::rules::max_batch;
    if (max_tasks < 1 || max_tasks > most)
        model::refuse(fmt::format("max_tasks must be 1 to {}", most));
    model::check_positive("lease", lease);
    seam::ClaimRequest request;
    request.work = seam::Work::tasks;
    request.max_messages = max_tasks;
    request.lease = lease;
    seam::Claim claim = store_->retrying([&](auto& backend) {
        const auto queue = backend.find_queue(flow);
        if (!queue || queue->kind != QueueKind::flow) no_such_flow(flow);
        request.queues = {queue->id};
        return backend.claim(request);
    });
    std::vector<Task> tasks;
    for (std::size_t i = 0; i < claim.messages.size(); ++i) {
        Message& message = claim.messages[i];
        seam::ClaimedTask& claimed = claim.tasks[i];
        tasks.push_back(
            {std::move(claimed.task),
             flow,
             std::move(message.payload),
             message.id,
             claimed.attempts,
             message.delivery,
             message.visible_at}
        );
    }
    return tasks;
}

TaskOutcome Store::complete_task(const TaskRef& task, const Json& output, int delivery) const {
    model::check_output(
        "the task's output", output.text, store_->backend()->options().max_payload_bytes
    );
    return report(
        *store_->backend(),
        [&] { return store_->backend()->complete_task(task, output, delivery); },
        [&](TaskOutcome outcome) {
            if (outcome != TaskOutcome::finished) return false;
            const auto seen = find_task(*store_->backend(), task);
            return seen && seen->status == TaskStatus::success && seen->output == output &&
                   (delivery == 0 || seen->delivery == delivery);
        }
    );
}

TaskOutcome Store::fail_task(const TaskRef& task, std::string_view error, int delivery) const {
    const std::string reason = model::storable_text(std::string(error));
    const auto fail = [&] { return store_->backend()->fail_task(task, reason, delivery); };
    // Without a delivery a repeated report could fail the next attempt, so a lost answer is not
    // repeated.
    if (delivery == 0) return retrying(*store_->backend(), fail);
    return report(*store_->backend(), fail, [&](TaskOutcome outcome) {
        if (outcome != TaskOutcome::finished && outcome != TaskOutcome::not_running) return false;
        const auto seen = find_task(*store_->backend(), task);
        return seen && seen->delivery == delivery && seen->error == reason;
    });
}

}  // namespace pawl::inline v0
