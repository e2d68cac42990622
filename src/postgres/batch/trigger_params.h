// Runs to be made, as parameters of a statement.
#pragma once

#include <pawl/workflow.h>
#include <span>

#include "postgres/driver/params.h"

namespace pawl::postgres {

// As aligned arrays: workflows, inputs, priorities, delays_ms, ats, idempotency_keys, max_attempts,
// parent_run_ids; and beside them the tags, each with the place of its run, counted from 1.
void add_trigger_params(Params& params, std::span<const NewRun* const> runs);

// One run that trigger_one() can make: ready at once, without key and tags.
[[nodiscard]] bool is_plain(const NewRun& run);
void add_plain_trigger_params(Params& params, const NewRun& run);

}  // namespace pawl::postgres
