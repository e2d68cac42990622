// Random numbers for jitter, and unique ids. Not for security.
#pragma once

#include <string>

namespace pawl::base {

// In [0, 1).
[[nodiscard]] double random_fraction();
// A version 4 UUID.
[[nodiscard]] std::string random_uuid();

}  // namespace pawl::base
