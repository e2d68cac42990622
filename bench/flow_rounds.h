// One round of a flow benchmark each: by pawl's worker, by a client of the SQL functions, and by a
// bare program.
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

// Runs of the diamond, in batches.
void start_diamonds(const FlowSite& site, int runs);

// From the start of a worker until all that was started is SUCCESS in the store. Throws where that
// is not what the store holds in the end; `before` runs were there already.
[[nodiscard]] FlowRound worker_drain(const FlowSite& site, int runs, int before = 0);
[[nodiscard]] FlowRound taker_drain(
    const FlowSite& site, int runs, Takers takers, int connections, int batch
);

// Starts `runs` runs of a map over `elements` elements, and works on them until they are SUCCESS.
[[nodiscard]] FlowRound map_drain(const FlowSite& site, int runs, int elements);

}  // namespace bench
