// Workers as the store knows them: Store::workers(). pawl/worker.h has the worker of this process.
#pragma once

#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

/// ready: registered, not started. polling: started. suspended: claims nothing until resumed.
/// interrupted: stops polling after its current work. stopped is final.
enum class WorkerStatus { ready, polling, interrupted, suspended, stopped };
/// The name, the same as in SQL: "READY", "POLLING", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(WorkerStatus status);

/// What moves a worker from one status to another; see docs/glossary.md for the table.
enum class WorkerEvent { start_polling, poll_done, interrupt, suspend, resume, stop };
/// The name: "start_polling", ...
[[nodiscard]] PAWL_EXPORT std::string_view to_string(WorkerEvent event);

/// A worker as it is registered.
struct WorkerInfo {
    WorkerId id;
    std::string name;  ///< a label: two workers may share it
    std::string host;  ///< the machine on which it runs
    int port = 0;      ///< what WorkerOptions::port gave
    int pid = 0;       ///< its process
    WorkerStatus status = WorkerStatus::ready;
    bool lost = false;  ///< no heartbeat for longer than its lease, and not stopped
    Duration lease{};   ///< without a heartbeat for this long, its work is delivered to others
    std::vector<std::string> subscriptions;  ///< WorkerOptions::prefixes
    std::vector<std::string> handlers;       ///< the queues, workflows and flows that it handles
    Timestamp started_at;                    ///< when it was registered
    Timestamp heartbeat_at;                  ///< its last heartbeat
};

}  // namespace pawl::inline v0
