// Runs that somebody waits for: a step of a code-first run (ctx.call), or a task whose work they
// are. Who ends such a run tells its caller in the same transaction, and a caller that fails or is
// cancelled takes the runs it waits for along.
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

// Makes the run, or finds it by its key. Where it has ended its caller is told by settle_ends().
void call(WriteScope& scope, const NewRun& run, const Caller& caller);

// Whose runs are not waited for any more: of one step, or one of its tasks.
struct Called {
    std::string step;
    std::optional<int> task;
};
void cancel_called(WriteScope& scope, RunId caller, const Called& by);

// Tells the callers of runs that have ended. Costs nothing where none have, and one look where
// nobody waits for any.
void settle_calls(WriteScope& scope);

// At the end of each transaction in which tasks or runs may have ended: nothing more follows.
void settle_ends(WriteScope& scope);

}  // namespace pawl::rowstore
