// What a paused run waits for.
#pragma once

#include <map>
#include <optional>
#include <pawl/run.h>
#include <pawl/store.h>
#include <string>
#include <vector>

#include "cli/output/view.h"

namespace pawl::cli {

struct RunWait {
    WaitKind kind = WaitKind::resume;
    RunId run;
    std::string step;
    std::string message;             ///< for people
    std::string condition;           ///< of the program
    std::optional<Timestamp> until;  ///< for a sleep: its end; for a resume: the next check
    RunId called;                    ///< for a call: the run whose end is awaited

    /// "step 'approval' waits for a resume: the manager decides"
    [[nodiscard]] std::string sentence(const View& view) const;
    /// The same for a narrow column: "waits at approval: the manager decides"
    [[nodiscard]] std::string remark(const View& view) const;
    /// The command that ends the wait; empty for a sleep and a call.
    [[nodiscard]] std::string command() const;
    /// The command that shows what is awaited; empty unless it is a run.
    [[nodiscard]] std::string look() const;
};

/// Nothing if the run is not paused.
[[nodiscard]] std::optional<RunWait> find_wait(
    const RunInfo& run, const std::vector<StepInfo>& steps
);
[[nodiscard]] std::optional<RunWait> find_wait(const Store& store, RunId run);

/// By run, for the paused runs of a list. Each needs a query: a long list shows the first 100.
using RunWaits = std::map<RunId, RunWait>;
[[nodiscard]] RunWaits find_waits(const Store& store, const std::vector<RunInfo>& runs);

}  // namespace pawl::cli
