// Wake-ups for waiters. A wake-up is a hint: the woken thread queries the store.
#pragma once

#include <optional>
#include <pawl/run.h>

#include "seam/run_wakeups.h"
#include "seam/wake_hub.h"

namespace pawl::seam {

// The part of a run that a waiter for its end needs.
struct RunEnd {
    RunStatus status = RunStatus::queued;
    bool deleted = false;
    std::optional<Json> output;
};

class Wakeups {
public:
    Wakeups() = default;
    Wakeups(const Wakeups&) = delete;
    Wakeups& operator=(const Wakeups&) = delete;
    virtual ~Wakeups() = default;

    // Starts listening on first use. Topics are queue ids and services.
    virtual seam::WakeHub& wake_hub() = 0;
    // Notifies about runs that ended or were cancelled, as far as this process learns of it. Starts
    // listening too.
    virtual seam::RunWakeups& run_wakeups() = 0;
    // Registers a waiter for the end of this run, so that the process that ends it sends a wake-up.
    // Returns the run as it is after that, because it may have ended before.
    virtual std::optional<RunEnd> announce_waiter(RunId run) = 0;
};

}  // namespace pawl::seam
