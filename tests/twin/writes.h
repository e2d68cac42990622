// The writes that a twin test commits, one per kind, with random contents.
#pragma once

#include <functional>
#include <string>

#include "twin/choices.h"
#include "twin/world.h"

namespace pawl::test::twin {

template <class Holding>
struct DrawnWrite {
    std::string name;
    std::function<Write(const Holding&)> make;
};

// Commits the writes; with `again` those that were done a second time, as if the answer to the
// first had been lost.
// Excludes calls of workflows that do not exist: if the lease is lost too, the stores differ in
// which of the two they report.
[[nodiscard]] std::string committed(World& world, std::vector<Write> writes, bool again);

[[nodiscard]] DrawnWrite<Message> message_write(Dice& dice);
[[nodiscard]] DrawnWrite<Held> run_write(Dice& dice, const World& seen);
[[nodiscard]] DrawnWrite<HeldTask> task_report(Dice& dice);

}  // namespace pawl::test::twin
