// Everything that can be read from a store, as text.
#pragma once

#include <string>

#include "twin/world.h"

namespace pawl::test::twin {

// The result of the call, or the code and message of its error.
[[nodiscard]] std::string answer(World& world, const std::function<std::string(World&)>& call);
[[nodiscard]] std::string dump(World& world);

}  // namespace pawl::test::twin
