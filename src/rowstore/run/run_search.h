// Finds and counts the runs that match a filter, newest first, through a suitable index.
// sql/postgres/functions/run/run_lists.sql describes the rules.
#pragma once

#include <pawl/run.h>
#include <vector>

#include "rowstore/session.h"

namespace pawl::rowstore {

[[nodiscard]] std::vector<RunId> list_runs(
    Session& session, const RunFilter& filter, const RunPage& page
);
[[nodiscard]] RunCounts count_runs(Session& session, const RunFilter& filter, std::int64_t limit);

}  // namespace pawl::rowstore
