#include "twin/operation.h"

#include <numeric>

#include "twin/choices.h"

namespace pawl::test::twin {

namespace {

std::vector<OperationKind> all_operations() {
    std::vector<OperationKind> all;
    for (const auto* kinds :
         {&queue_operations(),
          &message_operations(),
          &workflow_operations(),
          &run_operations(),
          &flow_operations(),
          &schedule_operations(),
          &outbox_operations(),
          &worker_operations(),
          &report_operations()})
        all.insert(all.end(), kinds->begin(), kinds->end());
    return all;
}

Operation draw(Dice& dice, const World& seen, const std::vector<OperationKind>& kinds) {
    const int total =
        std::accumulate(kinds.begin(), kinds.end(), 0, [](int sum, const OperationKind& kind) {
            return sum + kind.weight;
        });
    while (true) {
        int left = dice.below(total);
        for (const OperationKind& kind : kinds) {
            left -= kind.weight;
            if (left >= 0) continue;
            Operation drawn = kind.draw(dice, seen);
            if (drawn.perform) return drawn;
            break;
        }
    }
}

}  // namespace

Operation random_operation(Dice& dice, const World& seen) {
    static const std::vector<OperationKind> all = all_operations();
    return draw(dice, seen, all);
}

std::vector<Operation> first_operations(Dice& dice, const World& seen) {
    std::vector<Operation> first;
    const auto add = [&](const std::string& what, const std::vector<OperationKind>& kinds) {
        while (true) {
            Operation drawn = draw(dice, seen, kinds);
            if (!drawn.name.starts_with(what)) continue;
            first.push_back(std::move(drawn));
            return;
        }
    };
    for (const std::string& name : queue_names) add("create queue " + name, queue_operations());
    for (const std::string& name : workflow_names)
        add("create workflow " + name, workflow_operations());
    for (int i = 0; i < 2; ++i) add("ensure flow", flow_operations());
    add("register", worker_operations());
    return first;
}

}  // namespace pawl::test::twin
