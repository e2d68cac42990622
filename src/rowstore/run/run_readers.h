// Reads rows of runs, steps and events into the public types.
#pragma once

#include <optional>
#include <pawl/run.h>
#include <vector>

#include "rowstore/session.h"

namespace pawl::rowstore {

[[nodiscard]] std::optional<RunInfo> read_run(Session& session, RunId run);
// Skips runs that do not exist.
[[nodiscard]] std::vector<RunInfo> read_runs(Session& session, const std::vector<RunId>& ids);
[[nodiscard]] std::vector<StepInfo> read_steps(Session& session, RunId run);
[[nodiscard]] std::vector<RunEvent> read_events(Session& session, RunId run);

}  // namespace pawl::rowstore
