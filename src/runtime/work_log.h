// The log lines of a worker: its start and end, failed work, takeovers, poison. See
// docs/logging.md.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <pawl/worker.h>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/line_limit.h"
#include "base/log.h"
#include "seam/outcome.h"

namespace pawl::runtime {

class Call;
class TaskCall;

// "run 12 of workflow 'order'", "message 5 of queue 'mail'", ...
[[nodiscard]] std::string subject_of(const HandlerSpec& spec, MessageId message);
[[nodiscard]] bool has_failed_run(const seam::Write& write, const seam::WriteOutcome& outcome);
[[nodiscard]] std::string in_seconds(std::chrono::steady_clock::duration time);  // "1.4 s"

class WorkLog {
public:
    static constexpr int lines_per_second = 20;

    WorkLog(
        base::Log log,
        const std::atomic<WorkerId>& worker,
        std::string name,
        const std::vector<QueueInfo>& queues
    );
    ~WorkLog() { flush(); }
    WorkLog(const WorkLog&) = delete;
    WorkLog& operator=(const WorkLog&) = delete;

    // Adds the worker's name and id.
    void write(LogLevel level, std::string_view text) const;

    // The following lines are limited per second; only the number of suppressed ones is logged.
    struct Attempt {
        int number = 1;
        int limit = 0;                     // 0 means no limit, or unknown
        std::optional<Duration> retry_in;  // nullopt means no retry
    };
    // A retry_in that only the store can compute.
    static constexpr Duration by_backoff{-1};
    void failed(std::string_view what, const Attempt& attempt, std::string_view error);
    void run_failed(std::string_view what, const seam::Finish& end);
    // The limit of a queue when the worker was created; 0 means no limit, or unknown.
    [[nodiscard]] int max_attempts_of(const std::string& queue) const;
    void task_failed(const TaskCall& call, const seam::FailTask& failure);
    void paused(std::string_view what, Duration check_after, std::string_view reason);
    void taken_over(const Call& call, WorkerId from);
    void poisoned(const HandlerSpec& spec, MessageId message, std::string_view reason);
    void flush();  // logs the number of suppressed lines, if any

private:
    void write_limited(LogLevel level, std::string_view text);

    const base::Log log_;
    const std::atomic<WorkerId>& worker_;
    const std::string name_;
    std::unordered_map<std::string, int> max_attempts_;  // of queues
    std::mutex mutex_;
    base::LineLimit limit_{lines_per_second};
};

}  // namespace pawl::runtime
