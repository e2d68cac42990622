// Interposes libpq's function of the same name, and calls it.
#include "round_trips.h"

#include <atomic>
#include <dlfcn.h>

#include <libpq-fe.h>

namespace {

std::atomic<int> pipelines = 0;

}  // namespace

extern "C" int PQpipelineSync(PGconn* connection) {
    using Function = int (*)(PGconn*);
    static const auto libpq = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "PQpipelineSync"));
    pipelines.fetch_add(1, std::memory_order_relaxed);
    return libpq(connection);
}

namespace bench {

double round_trips() {
    return pipelines.load(std::memory_order_relaxed);
}

}  // namespace bench
