#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <pawl/worker.h>
#include <sstream>

#include "engine/access.h"
#include "model/check.h"
#include "runtime/lease_table.h"
#include "runtime/message/message_call.h"
#include "runtime/worker_runtime.h"
#include "seam/backend.h"

namespace pawl::inline v0 {

namespace {

// "billing.,media."
std::vector<std::string> prefixes_from_environment() {
    const char* value = std::getenv("PAWL_WORKER_PREFIXES");
    std::vector<std::string> prefixes;
    std::stringstream list(value == nullptr ? "" : value);
    for (std::string prefix; std::getline(list, prefix, ',');) {
        if (!prefix.empty()) prefixes.push_back(prefix);
    }
    return prefixes;
}

bool is_subscribed(const std::vector<std::string>& prefixes, const std::string& workflow) {
    return prefixes.empty() || std::ranges::any_of(prefixes, [&](const std::string& prefix) {
               return workflow.starts_with(prefix);
           });
}

// Registrations are static objects: the linker leaves out the files of a static library that
// nothing refers to.
void warn_of_empty_discovery(
    seam::Backend& backend, const std::string& worker, const std::string& prefix
) {
    backend.log().warning(fmt::format(
        "worker '{}': discover(\"{}\") found no workflow; register one with PAWL_WORKFLOW, and if "
        "it is in a static library, link that with pawl_link_workflows(TARGET LIBRARY) in CMake: "
        "the linker drops the registrations otherwise",
        worker,
        prefix
    ));
}

void warn_of_unmatched_prefixes(seam::Backend& backend, const WorkerOptions& options) {
    for (const std::string& prefix : options.prefixes) {
        const bool matched = std::ranges::any_of(options.handlers, [&](const HandlerSpec& spec) {
            return (spec.workflow || spec.flow) && spec.queue.starts_with(prefix);
        });
        if (!matched)
            backend.log().warning(fmt::format(
                "worker '{}': none of its handlers is below the prefix '{}': it executes no run "
                "there, and fails those that no live worker handles",
                options.name,
                prefix
            ));
    }
}

}  // namespace

std::span<const Message> HandlerContext::messages() const {
    return call_.messages();
}

std::stop_token HandlerContext::stop_token() const {
    return call_.stop.get_token();
}

bool HandlerContext::lease_lost(const Message& message) const {
    return call_.leases().lost(message.lease());
}

void HandlerContext::release(const Message& message, Duration delay) {
    model::check_delay("delay", delay);
    call_.decide(message, seam::Release{delay});
}

void HandlerContext::fail(const Message& message, std::string_view error) {
    call_.decide(message, seam::Fail{model::storable_text(error)});
}

Worker WorkerBuilder::create(const Store& store) const {
    WorkerOptions options = options_;
    if (options.prefixes.empty()) options.prefixes = prefixes_from_environment();
    for (const std::string& prefix : options.discover) {
        auto workflows = discover_workflows(prefix);
        if (workflows.empty())
            warn_of_empty_discovery(*detail::Access::backend(store), options.name, prefix);
        for (DiscoveredWorkflow& found : workflows) {
            if (std::ranges::find(options.handlers, found.name, &HandlerSpec::queue) !=
                options.handlers.end())
                continue;  // handled by hand, or found by another prefix
            if (is_subscribed(options.prefixes, found.name))
                (void)store.create_workflow(found.name);
            options.handlers.push_back({found.name, 1, {}, std::move(found.handler), {}});
        }
    }
    warn_of_unmatched_prefixes(*detail::Access::backend(store), options);
    std::erase_if(options.handlers, [&](const HandlerSpec& spec) {
        return (spec.workflow || spec.flow) && !is_subscribed(options.prefixes, spec.queue);
    });
    if (options.metrics && metrics_library_ == nullptr)
        throw Error(
            ErrorCode::backend_missing,
            fmt::format(
                "worker '{}' has metrics options but no endpoint: set them with "
                "WorkerBuilder::metrics() and link pawl::metrics",
                options.name
            )
        );
    const auto open_metrics = [&](const WorkerOptions& of, auto meters) {
        return metrics_library_().open(of, std::move(meters), detail::Access::backend(store));
    };
    return detail::Access::worker(std::make_shared<runtime::WorkerRuntime>(
        detail::Access::backend(store), std::move(options), open_metrics
    ));
}

Worker::Worker(std::shared_ptr<runtime::WorkerRuntime> runtime) : runtime_(std::move(runtime)) {}
Worker::Worker(Worker&&) noexcept = default;
Worker& Worker::operator=(Worker&&) noexcept = default;
Worker::~Worker() = default;

WorkerId Worker::id() const {
    return runtime_->id();
}
WorkerStatus Worker::status() const {
    return runtime_->status();
}
int Worker::metrics_port() const {
    return runtime_->metrics_port();
}
void Worker::start() {
    runtime_->start();
}
void Worker::poll_forever() {
    runtime_->poll_forever();
}
int Worker::poll_once() {
    return runtime_->poll_once();
}
StopReport Worker::stop(Duration deadline) {
    return runtime_->stop(deadline);
}
void Worker::interrupt() {
    runtime_->interrupt();
}
void Worker::suspend() {
    runtime_->suspend();
}
void Worker::resume() {
    runtime_->resume();
}
void Worker::handle_signals() {
    runtime_->handle_signals();
}

}  // namespace pawl::inline v0
