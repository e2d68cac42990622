// Converts new runs to parameters of a statement.
#pragma once

#include <pawl/workflow.h>
#include <span>

#include "postgres/driver/params.h"

namespace pawl::postgres {

// Aligned arrays: workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts,
// parent_run_ids; and the tags, each with the 1-based index of its run.
void add_trigger_params(Params& params, std::span<const NewRun* const> runs);

// Whether trigger_one() can create the run: ready immediately, without key and tags.
[[nodiscard]] bool is_plain(const NewRun& run);
void add_plain_trigger_params(Params& params, const NewRun& run);

}  // namespace pawl::postgres
