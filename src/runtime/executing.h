// One call of a handler: its messages, its run or its task, and what shall become of them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <pawl/worker.h>
#include <stop_token>
#include <vector>

#include "seam/batch.h"

namespace pawl::runtime {

class LeaseTable;
class WorkLog;
struct HandlerMeters;

struct Executing {
    using Clock = std::chrono::steady_clock;

    const HandlerSpec* spec = nullptr;
    std::vector<Message> messages;
    LeaseTable* leases = nullptr;
    WorkLog* log = nullptr;
    HandlerMeters* meters = nullptr;  // only where the worker is measured
    std::stop_source stop{};
    std::size_t leases_left = 0;  // guarded by the lease table
    // What the handler decided for single messages of its batch; the others are archived.
    std::vector<std::optional<seam::Write>> decisions;

    // Of runs.
    std::optional<seam::ClaimedRun> run;
    std::shared_ptr<const WorkflowInfo> workflow;
    // Of tasks.
    std::optional<seam::ClaimedTask> task;

    Timestamp claimed_at;                   // the database's clock at the claim,
    Clock::time_point claimed_at_steady{};  // and ours
    Clock::time_point started_at_steady{};  // only where the worker is measured
    Clock::time_point running_since{};      // guarded by the executor,
    bool ended = false;                     // and so is this
    Clock::time_point stale_at{};           // where it was not started by then, it goes back
    std::atomic<bool> lost = false;         // nothing of it will be recorded any more
    std::atomic<bool> dropped = false;      // the store is another one: nothing is reported at all
    std::atomic<bool> cancelled = false;    // because it was cancelled
    std::atomic<bool> abandoned = false;    // because the worker stops
    std::atomic<bool> reported = false;     // the watchdog has reported its end
    std::atomic<Clock::time_point> lease_ends_at{Clock::time_point{}};
};

}  // namespace pawl::runtime
