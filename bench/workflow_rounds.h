// Single rounds of the workflow benchmarks: with pawl, and with a bare program.
#pragma once

#include "usage.h"
#include "workflow_site.h"

namespace bench {

enum class Triggering { before, meanwhile };
enum class Threads { shared, one_per_run };
enum class Metrics { off, on };

struct Round {
    double seconds = 0;
    Usage used = {};  // by this process
};

// Creates the runs, in batches.
void trigger_runs(const WorkflowSite& site, int runs);

// Measures from the start of a worker until all runs are SUCCESS in the store. They have three
// steps. Throws if the store does not contain the expected runs at the end.
[[nodiscard]] Round drain(
    const WorkflowSite& site,
    int runs,
    Triggering triggering,
    Threads threads,
    Metrics metrics = Metrics::off
);
[[nodiscard]] Round bare_drain(
    const WorkflowSite& site, int runs, int connections, Triggering triggering
);

// The state after a crash in the third step: claimed, two steps recorded, the lease expired.
void make_crashed_runs(const WorkflowSite& site, int runs);
// Executes them until they are SUCCESS. Throws if a recorded step was executed again.
[[nodiscard]] Round resume(const WorkflowSite& site, int runs);
[[nodiscard]] Round bare_resume(const WorkflowSite& site, int runs);

}  // namespace bench
