// The names and values from which operations are drawn. Most are valid.
#pragma once

#include <optional>
#include <pawl/pawl.h>
#include <string>
#include <vector>

#include "twin/dice.h"

namespace pawl::test::twin {

inline const std::vector<std::string> queue_names{"qa", "qb", "qc"};
inline const std::vector<std::string> workflow_names{"wa", "wb", "wc"};
inline const std::vector<std::string> flow_names{"fa", "fb"};
inline const std::vector<std::string> step_names{"a", "b", "c", "d", "e"};

[[nodiscard]] std::string any_queue(Dice& dice);     // rarely one that is not a plain queue
[[nodiscard]] std::string any_workflow(Dice& dice);  // rarely one that is not a workflow
[[nodiscard]] std::string any_flow(Dice& dice);      // rarely one that is not a flow
[[nodiscard]] std::string any_step(Dice& dice);
[[nodiscard]] Json any_json(Dice& dice);       // rarely not JSON
[[nodiscard]] std::string value(Dice& dice);   // JSON
[[nodiscard]] Duration any_delay(Dice& dice);  // often 0, rarely negative
[[nodiscard]] Duration some_time(Dice& dice);  // above 0
[[nodiscard]] std::string reason(Dice& dice);

template <class Make>
auto sometimes(Dice& dice, int one_in, Make make) -> std::optional<decltype(make())> {
    if (!dice.one_in(one_in)) return std::nullopt;
    return make();
}

}  // namespace pawl::test::twin
