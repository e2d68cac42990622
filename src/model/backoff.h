// Backoff: raw = min(cap, base * 2^n), plus jitter in [0, raw/2).
#pragma once

#include <pawl/types.h>

namespace pawl::model {

// `jitter` is a random number in [0, 1).
[[nodiscard]] Duration backoff(int failures, Duration base, Duration cap, double jitter);

}  // namespace pawl::model
