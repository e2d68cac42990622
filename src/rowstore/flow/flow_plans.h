// Flows as their runs need them: the declared shape, and the graph by step index. Cached between
// transactions, and compared with the database at the first use in each.
#pragma once

#include <pawl/flow.h>
#include <pawl/workflow.h>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rowstore/session.h"

namespace pawl::rowstore {

struct FlowPlan {
    QueueId workflow;
    FlowShape shape;
    AuditLevel audit = AuditLevel::exceptions;
    bool lanes = false;                        // its tasks can be claimed by step
    std::vector<std::vector<int>> deps;        // by step_index, ascending
    std::vector<std::vector<int>> dependents;  // the reverse of deps
    std::unordered_map<std::string, int> indexes;

    [[nodiscard]] const FlowStep& step(int index) const {
        return shape.steps[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] const std::string& slug(int index) const { return step(index).slug; }
    [[nodiscard]] const std::vector<int>& deps_of(int index) const {
        return deps[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] const std::vector<int>& dependents_of(int index) const {
        return dependents[static_cast<std::size_t>(index)];
    }
    [[nodiscard]] std::optional<int> index_of(const std::string& slug) const;
    // The value of the step, else of the run, else of the flow.
    [[nodiscard]] int max_attempts(int index, const std::optional<int>& of_run) const;
    [[nodiscard]] Duration base_delay(int index) const;
    [[nodiscard]] std::optional<Duration> timeout(int index) const;
};

// None if the id does not belong to a flow.
[[nodiscard]] std::optional<FlowPlan> read_flow_plan(Session& session, QueueId workflow);

class FlowPlans {
public:
    void begin_transaction() { ++transaction_; }
    // The flow must exist. The reference is valid until the end of the transaction.
    [[nodiscard]] const FlowPlan& get(Session& session, QueueId workflow);

private:
    struct Entry {
        FlowPlan plan;
        std::uint64_t checked_in = 0;  // number of the transaction
    };
    std::uint64_t transaction_ = 0;
    std::unordered_map<QueueId, Entry> entries_;
};

}  // namespace pawl::rowstore
