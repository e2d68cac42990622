// Randomness that no security rests on: jitter.
#pragma once

namespace pawl::base {

// Out of [0, 1).
[[nodiscard]] double random_fraction();

}  // namespace pawl::base
