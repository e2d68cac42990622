#include "cli/commands/workflow_queue.h"

#include <fmt/format.h>

#include "cli/frame/error_output.h"

namespace pawl::cli {

namespace {

// {} is the name of the workflow or flow.
struct Instead {
    const char* workflow = "";
    const char* flow = "";
};

Instead instead_of(QueueUse use) {
    constexpr const char* runs =
        "cancel its runs instead; to list them: pawl run list --workflow {}";
    switch (use) {
        case QueueUse::enqueue:
            return {
                "start a run with: pawl trigger {} JSON",
                "start a run with: pawl flow start {} JSON"};
        case QueueUse::dequeue:
            return {
                "a worker with a handler takes its runs; to see them: pawl run list --workflow {}",
                "take its tasks with: pawl flow poll {}"};
        case QueueUse::settle:
            return {runs, "take and report its tasks with: pawl flow poll {}"};
        case QueueUse::create:
            return {
                "change the workflow with: pawl workflow create {}",
                "change the flow with: pawl flow create {}"};
        case QueueUse::remove:
            return {
                "delete the workflow with: pawl workflow delete {}",
                "delete the flow with: pawl flow delete {}"};
        case QueueUse::purge:
            return {runs, runs};
    }
    return {};
}

}  // namespace

void refuse_workflow_queue(
    const Store& store, QueueUse use, const std::string& queue, const Error& error
) {
    const bool is_flow = store.queue(queue).info().kind == QueueKind::flow;
    const Instead instead = instead_of(use);
    const char* hint = is_flow ? instead.flow : instead.workflow;
    throw HintedError(error.code(), error.what(), fmt::format(fmt::runtime(hint), queue));
}

}  // namespace pawl::cli
