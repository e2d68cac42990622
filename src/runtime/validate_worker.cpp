#include "runtime/validate_worker.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <fmt/format.h>
#include <set>

#include "model/check.h"
#include "model/check_run.h"
#include "model/rules.h"
#include "model/texts.h"

namespace pawl::runtime {

namespace {

class Checker {
public:
    Checker(const WorkerOptions& options, const Known& known) : options_(options), known_(known) {}

    void check_options() const;
    void check_handlers() const;
    [[noreturn]] void refuse(ErrorCode code, const std::string& what) const {
        throw Error(code, fmt::format("worker '{}': {}", options_.name, what));
    }

private:
    void check_metrics(const MetricsOptions& metrics) const;
    void check_queue(const HandlerSpec& spec) const;
    void check_workflow(const HandlerSpec& spec) const;
    void check_flow(const HandlerSpec& spec) const;
    void check_steps(const FlowShape& shape, const FlowHandlers& handlers) const;
    void check_step(
        const std::string& flow, const std::string& step, const FlowHandlers::Entry& entry
    ) const;
    [[nodiscard]] const WorkflowInfo* find(const std::string& workflow) const;
    // Queues and workflows below a prefix may be created later.
    [[nodiscard]] bool may_come_later() const { return !options_.prefixes.empty(); }

    const WorkerOptions& options_;
    const Known& known_;
};

std::string_view kind_of(const HandlerSpec& spec) {
    if (spec.flow) return "flow";
    return spec.workflow ? "workflow" : "queue";
}

const WorkflowInfo* Checker::find(const std::string& workflow) const {
    const auto at = std::ranges::find(known_.workflows, workflow, &WorkflowInfo::name);
    return at == known_.workflows.end() ? nullptr : &*at;
}

void Checker::check_options() const {
    if (options_.name.empty()) throw Error(ErrorCode::invalid_argument, "a worker needs a name");
    model::check_text("a worker's name", options_.name, 255);
    if (options_.handlers.empty() && options_.prefixes.empty())
        refuse(
            ErrorCode::invalid_argument,
            "it has no handler; add one with handle(), flow(), on_message() or on_batch()"
        );
    if (options_.concurrency < 1 || options_.concurrency > 10'000)
        refuse(ErrorCode::invalid_argument, "concurrency must be 1 to 10000");
    if (options_.lease && *options_.lease < 10ms)
        refuse(ErrorCode::invalid_argument, "lease must be at least 10 ms");
    if (options_.lease) model::check_delay("lease", *options_.lease);
    if (options_.poll_interval && *options_.poll_interval < 10ms)
        refuse(ErrorCode::invalid_argument, "poll_interval must be at least 10 ms");
    if (options_.backoff_base < Duration::zero() || options_.backoff_cap < options_.backoff_base)
        refuse(ErrorCode::invalid_argument, "backoff_base must be 0 to backoff_cap");
    model::check_delay("backoff: cap", options_.backoff_cap);
    if (options_.metrics) check_metrics(*options_.metrics);
}

void Checker::check_metrics(const MetricsOptions& metrics) const {
    if (metrics.port < 0 || metrics.port > 65'535)
        refuse(
            ErrorCode::invalid_argument,
            fmt::format("metrics: port {} must be 1 to 65535, or 0 for any free one", metrics.port)
        );
    std::array<std::uint8_t, sizeof(in6_addr)> parsed{};
    const char* const address = metrics.address.c_str();
    if (inet_pton(AF_INET, address, parsed.data()) != 1 &&
        inet_pton(AF_INET6, address, parsed.data()) != 1)
        refuse(
            ErrorCode::invalid_argument,
            fmt::format(
                "metrics: '{}' is not an IP address; use 127.0.0.1, ::1 or 0.0.0.0", metrics.address
            )
        );
    if (metrics.refresh < Duration::zero())
        refuse(ErrorCode::invalid_argument, "metrics: refresh must not be negative");
}

void Checker::check_handlers() const {
    std::set<std::string> names;
    for (const HandlerSpec& spec : options_.handlers) {
        if (!names.insert(spec.queue).second)
            refuse(
                ErrorCode::invalid_argument,
                fmt::format("{} '{}' has two handlers; remove one", kind_of(spec), spec.queue)
            );
        if (spec.flow) {
            check_flow(spec);
        } else if (spec.workflow) {
            check_workflow(spec);
        } else {
            check_queue(spec);
        }
    }
}

void Checker::check_queue(const HandlerSpec& spec) const {
    if (spec.batch_size < 1 || spec.batch_size > model::rules::max_batch)
        refuse(
            ErrorCode::invalid_argument,
            fmt::format("batch_size must be 1 to {}", model::rules::max_batch)
        );
    if (!spec.handler)
        refuse(
            ErrorCode::invalid_argument,
            fmt::format("the handler of queue '{}' is empty", spec.queue)
        );
    if (const WorkflowInfo* workflow = find(spec.queue))
        refuse(
            ErrorCode::workflow_queue,
            fmt::format(
                "queue '{}' belongs to a {}",
                spec.queue,
                workflow->is_flow ? "flow; use flow()" : "workflow; use handle()"
            )
        );
    if (std::ranges::find(known_.queues, spec.queue, &QueueInfo::name) == known_.queues.end())
        refuse(
            ErrorCode::queue_not_found,
            fmt::format(model::texts::queue_missing, spec.queue, spec.queue)
        );
}

void Checker::check_workflow(const HandlerSpec& spec) const {
    const WorkflowInfo* workflow = find(spec.queue);
    if (workflow == nullptr && !may_come_later())
        refuse(
            ErrorCode::workflow_not_found,
            fmt::format(model::texts::workflow_missing, spec.queue, spec.queue)
        );
    if (workflow != nullptr && workflow->is_flow)
        refuse(
            ErrorCode::invalid_argument,
            fmt::format("'{}' is a flow; pass the handlers of its steps to flow()", spec.queue)
        );
}

void Checker::check_flow(const HandlerSpec& spec) const {
    const WorkflowInfo* workflow = find(spec.queue);
    if (workflow != nullptr && !workflow->is_flow)
        refuse(
            ErrorCode::invalid_argument,
            fmt::format("'{}' is a workflow, not a flow; use handle()", spec.queue)
        );
    for (const auto& [step, entry] : spec.flow->entries()) check_step(spec.queue, step, entry);
    const auto shape = std::ranges::find(known_.flows, spec.queue, &FlowShape::slug);
    if (shape != known_.flows.end()) {
        check_steps(*shape, *spec.flow);
    } else if (!may_come_later()) {
        refuse(
            ErrorCode::flow_not_found,
            fmt::format(model::texts::flow_missing, spec.queue, spec.queue)
        );
    }
}

void Checker::check_steps(const FlowShape& shape, const FlowHandlers& handlers) const {
    if (handlers.entries().empty() && !shape.steps.empty())
        refuse(
            ErrorCode::invalid_argument,
            fmt::format("no step of flow '{}' has a handler; add one with on()", shape.slug)
        );
    for (const auto& [step, entry] : handlers.entries()) {
        if (std::ranges::find(shape.steps, step, &FlowStep::slug) == shape.steps.end())
            refuse(
                ErrorCode::invalid_argument,
                fmt::format(
                    "flow '{}' has no step '{}', for which a handler was added", shape.slug, step
                )
            );
    }
}

void Checker::check_step(
    const std::string& flow, const std::string& step, const FlowHandlers::Entry& entry
) const {
    const std::string whose = fmt::format("step '{}' of flow '{}'", step, flow);
    if (entry.workflow.empty()) {
        if (!entry.function) refuse(ErrorCode::invalid_argument, whose + " has an empty handler");
        return;
    }
    if (entry.function)
        refuse(
            ErrorCode::invalid_argument, whose + " has both a function and a workflow; use only one"
        );
    if (find(entry.workflow) == nullptr && !may_come_later())
        refuse(
            ErrorCode::workflow_not_found,
            fmt::format(
                "workflow '{}', the handler of {}, does not exist; create it with "
                "store.create_workflow(\"{}\")",
                entry.workflow,
                whose,
                entry.workflow
            )
        );
}

}  // namespace

std::vector<FlowShape> shapes_of(seam::Engine& backend, const WorkerOptions& options) {
    std::vector<FlowShape> shapes;
    for (const HandlerSpec& spec : options.handlers) {
        if (!spec.flow) continue;
        if (auto shape = backend.flow_shape(spec.queue)) shapes.push_back(std::move(*shape));
    }
    return shapes;
}

void check_worker(const WorkerOptions& options, seam::Engine& backend, const Known& known) {
    const Checker checker(options, known);
    checker.check_options();
    checker.check_handlers();
    if (!backend.options().accept_test_clock && backend.has_test_clock())
        checker.refuse(
            ErrorCode::test_clock,
            "the store's clock is replaced by a test clock; set ConnectOptions::accept_test_clock "
            "in tests"
        );
}

}  // namespace pawl::runtime
