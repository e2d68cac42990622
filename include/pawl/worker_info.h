// Workers as the store knows them.
#pragma once

#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

enum class WorkerStatus { ready, polling, interrupted, suspended, stopped };
/// READY, POLLING, ...: as in SQL.
[[nodiscard]] std::string_view to_string(WorkerStatus status);

/// What moves a worker from one status to another; see docs/glossary.md for the table.
enum class WorkerEvent { start_polling, poll_done, interrupt, suspend, resume, stop };
[[nodiscard]] std::string_view to_string(WorkerEvent event);

struct WorkerInfo {
    WorkerId id;
    std::string name;  ///< a label: two workers may share it
    std::string host;
    int port = 0;
    int pid = 0;
    WorkerStatus status = WorkerStatus::ready;
    bool lost = false;  ///< no heartbeat for longer than its lease, and not stopped
    Duration lease{};
    std::vector<std::string> subscriptions;
    std::vector<std::string> handlers;
    Timestamp started_at;
    Timestamp heartbeat_at;
};

}  // namespace pawl
