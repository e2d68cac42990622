// Waits for the end of a run, and says what a paused run waits for.
#pragma once

#include <pawl/run.h>
#include <pawl/store.h>

#include "cli/frame/context.h"

namespace pawl::cli {

/// The output of the run. If the run pauses, this tells people on standard error what it waits for.
/// Throws like Run::wait_json(); the error of a timeout has the command that continues the run.
[[nodiscard]] Json wait_for_run(
    const Context& context, const Store& store, RunId run, Duration timeout
);

}  // namespace pawl::cli
