// One round of a workflow benchmark each: by pawl, and by a bare program.
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

// Makes the runs, in batches.
void trigger_runs(const WorkflowSite& site, int runs);

// From the start of a worker until all runs are SUCCESS in the store. They have three steps. Throws
// where that is not what the store holds in the end.
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

// As a kill in the third step leaves them: claimed, two steps recorded, the lease ended.
void make_crashed_runs(const WorkflowSite& site, int runs);
// Until they are SUCCESS. Throws where a recorded step was executed again.
[[nodiscard]] Round resume(const WorkflowSite& site, int runs);
[[nodiscard]] Round bare_resume(const WorkflowSite& site, int runs);

}  // namespace bench
