// What the store does with flows.
#include "model/flow.h"

#include <algorithm>
#include <fmt/format.h>
#include <pawl/flow.h>
#include <pawl/store.h>

#include "engine/reconnect.h"
#include "model/check.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "model/texts.h"
#include "seam/backend.h"

namespace pawl {

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
    throw Error(ErrorCode::flow_not_found, fmt::format(model::texts::flow_missing, slug));
}

std::optional<TaskInfo> find_task(seam::Backend& backend, const TaskRef& task) {
    const auto tasks = backend.tasks(task.run);
    const auto found = std::ranges::find(tasks, task, &TaskInfo::task);
    if (found == tasks.end()) return std::nullopt;
    return *found;
}

// A report whose answer was lost is sent again. If it had been recorded, the second one changes
// nothing; `recorded` tells whether what is there is ours, and then the outcome is still `done`.
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

Flow& Flow::create(const Store& store) {
    // Dependencies may be steps that the store has already.
    model::check_flow_slug(shape_.slug);
    model::check_flow_options(shape_.slug, shape_.options);
    for (const FlowStep& step : shape_.steps) model::check_flow_step(shape_.slug, step);
    const auto& backend = store.backend();
    retrying(*backend, [&] { backend->create_flow_shape(shape_); });
    return *this;
}

void Store::create_flow(const std::string& slug, const FlowOptions& options) const {
    model::check_flow_slug(slug);
    model::check_flow_options(slug, options);
    retrying(*backend_, [&] { backend_->create_flow(slug, options); });
}

void Store::add_step(const std::string& flow, const FlowStep& step) const {
    model::check_flow_slug(flow);
    model::check_flow_step(flow, step);
    retrying(*backend_, [&] { backend_->add_step(flow, step); });
}

FlowShape Store::get_flow_shape(const std::string& slug) const {
    auto shape = retrying(*backend_, [&] { return backend_->flow_shape(slug); });
    if (!shape) no_such_flow(slug);
    return std::move(*shape);
}

EnsuredFlow Store::ensure_flow(const FlowShape& shape, EnsureMode mode) const {
    check_shape(shape);
    return retrying(*backend_, [&] { return backend_->ensure_flow(shape, mode); });
}

void Store::delete_flow_and_data(const std::string& slug, DeleteMode mode) const {
    retrying(*backend_, [&] { backend_->delete_flow(slug, mode); });
}

std::vector<TaskInfo> Store::tasks(RunId run) const {
    auto tasks = retrying(*backend_, [&] { return backend_->tasks(run); });
    if (tasks.empty()) (void)get_run(run);  // throws where there is none
    return tasks;
}

std::vector<Task> Store::poll_for_tasks(const std::string& flow, int qty, Duration vt) const {
    constexpr int most = model::rules::max_batch;
    if (qty < 1 || qty > most) model::refuse(fmt::format("qty must be 1 to {}", most));
    if (vt < 1ms) throw Error(ErrorCode::invalid_argument, "vt must be at least 1 ms");
    seam::ClaimRequest request;
    request.work = seam::Work::tasks;
    request.max_messages = qty;
    request.lease = vt;
    seam::Claim claim = retrying(*backend_, [&] {
        const auto queue = backend_->find_queue(flow);
        if (!queue || queue->kind != QueueKind::flow) no_such_flow(flow);
        request.queues = {queue->id};
        return backend_->claim(request);
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
    model::check_output("the task's output", output.text, backend_->options().max_payload_bytes);
    return report(
        *backend_,
        [&] { return backend_->complete_task(task, output, delivery); },
        [&](TaskOutcome outcome) {
            if (outcome != TaskOutcome::finished) return false;
            const auto seen = find_task(*backend_, task);
            return seen && seen->status == TaskStatus::success && seen->output == output &&
                   (delivery == 0 || seen->delivery == delivery);
        }
    );
}

TaskOutcome Store::fail_task(const TaskRef& task, const std::string& error, int delivery) const {
    const std::string reason = model::storable_text(error);
    const auto fail = [&] { return backend_->fail_task(task, reason, delivery); };
    // Without a delivery a repeated report could fail the next attempt: a lost answer stays in
    // doubt.
    if (delivery == 0) return retrying(*backend_, fail);
    return report(*backend_, fail, [&](TaskOutcome outcome) {
        if (outcome != TaskOutcome::finished && outcome != TaskOutcome::not_running) return false;
        const auto seen = find_task(*backend_, task);
        return seen && seen->delivery == delivery && seen->error == reason;
    });
}

}  // namespace pawl
