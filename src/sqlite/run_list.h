// Finds the runs that a filter lets through, newest first, through the index that fits it.
#pragma once

#include <pawl/run.h>
#include <vector>

#include "sqlite/session.h"

namespace pawl::sqlite {

struct ListedRun {
    RunId id;
    RunStatus status = RunStatus::queued;
};

inline constexpr int all_runs = -1;  // as a limit

[[nodiscard]] std::vector<ListedRun> list_runs(
    Session& session, const RunFilter& filter, const RunPage& page
);

}  // namespace pawl::sqlite
