// Single rounds of the flow benchmarks: with pawl's worker, with a client of the SQL functions, and
// with a bare program.
#pragma once

#include "flow_site.h"
#include "usage.h"

namespace bench {

struct FlowRound {
    double seconds = 0;
    Usage used = {};           // by this process
    ServerCounts counts = {};  // of the round
    double round_trips = 0;
};

enum class Takers { bare, sql };

// Starts runs of the diamond, in batches.
void start_diamonds(const FlowSite& site, int runs);

// Measures from the start of a worker until all runs are SUCCESS in the store, which had `before`
// runs already. Throws if the store does not contain the expected runs at the end.
[[nodiscard]] FlowRound worker_drain(const FlowSite& site, int runs, int before = 0);
[[nodiscard]] FlowRound taker_drain(
    const FlowSite& site, int runs, Takers takers, int connections, int batch
);

// Starts `runs` runs of a map over `elements` elements and executes them until they are SUCCESS.
[[nodiscard]] FlowRound map_drain(const FlowSite& site, int runs, int elements);

}  // namespace bench
