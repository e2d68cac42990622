// Writes of tasks, as the parameters of their statements; see run_writes.h.
#pragma once

#include "postgres/run_writes.h"

namespace pawl::postgres {

[[nodiscard]] Params complete_params(
    std::span<const store::Write> writes, const Places& places, store::Attempt attempt, Wake wake
);
[[nodiscard]] Params failure_params(
    std::span<const store::Write> writes, const Places& places, store::Attempt attempt, Wake wake
);
[[nodiscard]] Params delegation_params(
    std::span<const store::Write> writes, const Places& places, store::Attempt attempt, Wake wake
);
// extend, release, hand_back.
[[nodiscard]] Params task_lease_params(
    store::WriteKind kind,
    std::span<const store::Write> writes,
    const Places& places,
    store::Attempt attempt
);

}  // namespace pawl::postgres
