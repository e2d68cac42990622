// One operation of a twin test: all random choices are made when it is drawn, so that it can be
// performed on every store, and again without some of the operations before it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "twin/dice.h"
#include "twin/world.h"

namespace pawl::test::twin {

struct Operation {
    std::string name;
    // Returns the answer of the store as text. Throws what the store throws.
    std::function<std::string(World&)> perform;
};

// Draws an operation. `seen` is one of the worlds: choices are made from its contents. An operation
// without `perform` means that it has nothing to work on: draw again.
using Draw = Operation (*)(Dice& dice, const World& seen);
struct OperationKind {
    int weight;
    Draw draw;
};

const std::vector<OperationKind>& queue_operations();
const std::vector<OperationKind>& message_operations();
const std::vector<OperationKind>& workflow_operations();
const std::vector<OperationKind>& run_operations();
const std::vector<OperationKind>& flow_operations();
const std::vector<OperationKind>& schedule_operations();
const std::vector<OperationKind>& outbox_operations();
const std::vector<OperationKind>& worker_operations();
const std::vector<OperationKind>& report_operations();

[[nodiscard]] Operation random_operation(Dice& dice, const World& seen);
// The beginning of every seed: some queues, workflows and flows.
[[nodiscard]] std::vector<Operation> first_operations(Dice& dice, const World& seen);

// Returned by an operation that found nothing to work on, which happens when a list of operations
// is shortened.
inline const std::string nothing_there = "nothing there";

}  // namespace pawl::test::twin
