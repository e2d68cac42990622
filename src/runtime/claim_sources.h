// What a worker claims from: its queues, workflows and flows, as they exist in the store now.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/claim_stream.h"
#include "runtime/work_log.h"
#include "seam/engine.h"

namespace pawl::runtime {

// A set of queues that one claim covers: a worker's queues and workflows, its handlers with one
// batch size, its flows, or a flow of which it handles only some steps.
struct ClaimSource {
    seam::Work work;
    int batch_size;
    engine::ClaimStream stream;
    const HandlerSpec* only = nullptr;
};

// Used by the claiming thread only.
class ClaimSources {
public:
    ClaimSources(
        seam::Engine& backend,
        const WorkerOptions& options,
        const std::atomic<WorkerId>& worker,
        WorkLog& log
    );

    // Resolves the names again if the last time was more than a second ago.
    void refresh();
    // The sources in the order in which to claim from them; the first one rotates.
    [[nodiscard]] std::vector<ClaimSource*> next_turn();
    // The handler of a queue; null if the worker has none.
    [[nodiscard]] const HandlerSpec* handler_of(QueueId queue) const;
    [[nodiscard]] std::shared_ptr<const WorkflowInfo> workflow_of(
        QueueId queue, const HandlerSpec& spec
    );
    [[nodiscard]] const std::vector<QueueId>& queues() const { return queues_; }
    [[nodiscard]] const std::vector<seam::WakeTopic>& topics() const { return topics_; }

private:
    using Clock = std::chrono::steady_clock;
    using Specs = std::unordered_map<QueueId, const HandlerSpec*>;

    ClaimSource& add(seam::Work work, int batch_size);
    // Adds a separate source if the worker has no handlers for some steps of the flow.
    void add_partial(const HandlerSpec& spec);
    [[nodiscard]] bool takes(const ClaimSource& source, const HandlerSpec& spec) const;
    void refresh_workflows(const Specs& specs);
    [[nodiscard]] bool can_handle(QueueId queue, const HandlerSpec& spec) const;

    seam::Engine& backend_;
    const WorkerOptions& options_;
    const std::atomic<WorkerId>& worker_;  // changes if the worker registers again
    WorkLog& log_;
    std::vector<std::string> names_;
    std::vector<ClaimSource> sources_;
    std::size_t turn_ = 0;  // index of the source that is claimed from first
    Specs specs_;
    std::vector<QueueId> queues_;          // of all sources
    std::vector<seam::WakeTopic> topics_;  // the wake-up topics of queues_
    std::unordered_map<QueueId, std::shared_ptr<const WorkflowInfo>> workflows_;
    bool handles_workflows_ = false;  // or flows
    Clock::time_point refreshed_at_{};
};

}  // namespace pawl::runtime
