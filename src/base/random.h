// Jitter, and ids that nobody else has. No security rests on either.
#pragma once

#include <string>

namespace pawl::base {

// Out of [0, 1).
[[nodiscard]] double random_fraction();
// A UUID of version 4.
[[nodiscard]] std::string random_uuid();

}  // namespace pawl::base
