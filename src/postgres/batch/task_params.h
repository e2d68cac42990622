// Writes of tasks, as the parameters of their statements; see run_writes.h.
#pragma once

#include "postgres/batch/run_params.h"

namespace pawl::postgres {

[[nodiscard]] Params complete_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params failure_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params delegation_params(
    std::span<const seam::Write> writes, const Places& places, seam::Attempt attempt, Wake wake
);
// extend, release, hand_back.
[[nodiscard]] Params task_lease_params(
    seam::WriteKind kind,
    std::span<const seam::Write> writes,
    const Places& places,
    seam::Attempt attempt
);

}  // namespace pawl::postgres
