// Runs that are called by a step of a code-first run (ctx.call), or by a task whose work they do.
// The transaction that ends a called run also passes its result to the caller. A caller that fails
// or is cancelled also cancels the runs that it waits for.
#pragma once

#include <optional>
#include <string>

#include "rowstore/commit/write_scope.h"
#include "seam/backend.h"

namespace pawl::rowstore {

struct Caller {
    RunId run;
    std::string step;
    std::optional<int> task;  // none: a step of a code-first run
};

// Creates the run, or finds it by its key. If it has ended, settle_ends() passes its result to the
// caller.
void call(WriteScope& scope, const NewRun& run, const Caller& caller);

// A step, or one of its tasks, that no longer waits for its called runs.
struct Called {
    std::string step;
    std::optional<int> task;
};
void cancel_called(WriteScope& scope, RunId caller, const Called& by);

// Passes the results of ended runs to their callers. Costs nothing if no run has ended, and one
// lookup if there are no calls.
void settle_calls(WriteScope& scope);

// Called at the end of each transaction in which tasks or runs may have ended. Processes all
// effects.
void settle_ends(WriteScope& scope);

}  // namespace pawl::rowstore
