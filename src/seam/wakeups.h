// What wakes those who wait: hints only. Whoever is woken looks into the store.
#pragma once

#include <optional>
#include <pawl/run.h>

#include "seam/run_wakeups.h"
#include "seam/wake_hub.h"

namespace pawl::seam {

// As much of a run as who waits for its end has to know.
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

    // Starts listening on first use; woken by queue id, or by everything.
    virtual seam::WakeHub& wake_hub() = 0;
    // Runs that ended or were cancelled, as far as this process hears of it; starts listening too.
    virtual seam::RunWakeups& run_wakeups() = 0;
    // Somebody here waits for the end of this run: whoever ends it shall send a wake-up. Returns
    // the run as it is after that: it may have ended before anybody knew.
    virtual std::optional<RunEnd> announce_waiter(RunId run) = 0;
};

}  // namespace pawl::seam
