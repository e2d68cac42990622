// Converts writes of tasks to parameters of their statements; see run_params.h.
#pragma once

#include "postgres/batch/run_params.h"

namespace pawl::postgres {

[[nodiscard]] Params complete_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params failure_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params delegation_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt, Wake wake
);
[[nodiscard]] Params extend_task_params(seam::Writes writes, const Indexes& indexes);
[[nodiscard]] Params release_task_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt
);
[[nodiscard]] Params hand_back_task_params(
    seam::Writes writes, const Indexes& indexes, seam::Attempt attempt
);

}  // namespace pawl::postgres
