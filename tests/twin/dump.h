// All that can be read of a store, as text.
#pragma once

#include <string>

#include "twin/world.h"

namespace pawl::test::twin {

// What the call returns, or the error that it throws: its code and its message.
[[nodiscard]] std::string answer(World& world, const std::function<std::string(World&)>& call);
[[nodiscard]] std::string dump(World& world);

}  // namespace pawl::test::twin
