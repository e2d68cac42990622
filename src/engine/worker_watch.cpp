#include "engine/worker_watch.h"

#include <fmt/format.h>

#include "seam/engine.h"

namespace pawl::engine {

namespace {
constexpr Duration look_every = 10s;
}

bool WorkerWatch::is_time(const std::string& workflow) {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    const auto [at, first] = looked_at_.try_emplace(workflow, now);
    if (!first && now - at->second < look_every) return false;
    at->second = now;
    return true;
}

void WorkerWatch::triggered(std::span<const NewRun> runs) {
    const std::string* last = nullptr;
    for (const NewRun& run : runs) {
        if (last != nullptr && *last == run.workflow) continue;
        last = &run.workflow;
        if (!is_time(run.workflow)) continue;
        try {
            if (backend_.has_live_handler(run.workflow)) continue;
        } catch (const Error&) {
            continue;  // the run is there: nobody needs an error about a courtesy
        }
        backend_.log().warning(fmt::format(
            "workflow '{}' has no live worker: its runs wait until one starts", run.workflow
        ));
    }
}

}  // namespace pawl::engine
