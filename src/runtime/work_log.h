// What a worker logs: its start and end, failed work, takeovers, poison. See docs/logging.md.
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

    // With the worker's name and id in front.
    void write(LogLevel level, std::string_view text) const;

    // The rest is limited: behind so many lines in a second, only their number is logged.
    struct Attempt {
        int number = 1;
        int limit = 0;                     // 0: no limit, or not known
        std::optional<Duration> retry_in;  // none: no retry
    };
    // A retry_in that only the store knows.
    static constexpr Duration by_backoff{-1};
    void failed(std::string_view what, const Attempt& attempt, std::string_view error);
    void run_failed(std::string_view what, const seam::Finish& end);
    // A queue's, as it was when the worker was created; 0: no limit, or not known.
    [[nodiscard]] int max_attempts_of(const std::string& queue) const;
    void task_failed(const TaskCall& call, const seam::FailTask& failure);
    void paused(std::string_view what, Duration check_after, std::string_view reason);
    void taken_over(const Call& call, WorkerId from);
    void poisoned(const HandlerSpec& spec, MessageId message, std::string_view reason);
    void flush();  // how many lines were suppressed, if any were

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
