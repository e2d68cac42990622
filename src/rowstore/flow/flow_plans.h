// Flows as their runs need them: the declared shape, with the graph by numbers. Kept in memory
// between transactions, and compared with the file at the first use in each.
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
    bool lanes = false;                        // its tasks can be claimed by their steps
    std::vector<std::vector<int>> deps;        // by step_index, ascending
    std::vector<std::vector<int>> dependents;  // the other way
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
    // A step's own, else the run's, else the flow's.
    [[nodiscard]] int max_attempts(int index, const std::optional<int>& of_run) const;
    [[nodiscard]] Duration base_delay(int index) const;
    [[nodiscard]] std::optional<Duration> timeout(int index) const;
};

// None where the id is no flow's.
[[nodiscard]] std::optional<FlowPlan> read_flow_plan(Session& session, QueueId workflow);

class FlowPlans {
public:
    void begin_transaction() { ++transaction_; }
    // Of a flow that exists. Good until the end of the transaction.
    [[nodiscard]] const FlowPlan& get(Session& session, QueueId workflow);

private:
    struct Entry {
        FlowPlan plan;
        std::uint64_t checked_in = 0;  // which transaction
    };
    std::uint64_t transaction_ = 0;
    std::unordered_map<QueueId, Entry> entries_;
};

}  // namespace pawl::rowstore
