// Calls a workflow's function for one run and says what shall be written at the end.
#pragma once

#include <optional>

#include "runtime/run_context.h"
#include "runtime/watchdog.h"

namespace pawl::runtime {

class RunRunner {
public:
    RunRunner(Committer& committer, store::Backend& backend, Watchdog& watchdog)
        : committer_(committer), backend_(backend), watchdog_(watchdog) {}

    // None: the run is not ours any more.
    [[nodiscard]] std::optional<store::Write> run(Executing& executing);

private:
    [[nodiscard]] bool load_steps(Executing& executing);
    [[nodiscard]] std::optional<store::Write> call(Executing& executing, RunContext& context);
    [[nodiscard]] std::optional<store::Write> ended_early(
        Executing& executing, RunContext& context, bool swallowed
    );
    [[nodiscard]] store::Write thrown_outside(
        const Executing& executing, const RunContext& context, const std::exception_ptr& thrown
    );

    Committer& committer_;
    store::Backend& backend_;
    Watchdog& watchdog_;
};

}  // namespace pawl::runtime
