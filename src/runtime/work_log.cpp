#include "runtime/work_log.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/run_error.h"
#include "runtime/task/task_call.h"

namespace pawl::runtime {

using seam::Write;
using seam::WriteOutcome;
using seam::WriteStatus;

namespace {

constexpr std::size_t max_error_bytes = 500;

// An error's text comes from the user's code: it may be long and have several lines.
std::string one_line(std::string_view text) {
    std::string line(text.substr(0, max_error_bytes));
    std::ranges::replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, ' '
    );
    if (text.size() > max_error_bytes) {
        while (!line.empty() && (static_cast<unsigned char>(line.back()) & 0xc0U) == 0x80U)
            line.pop_back();
        if (!line.empty() && static_cast<unsigned char>(line.back()) >= 0xc0U) line.pop_back();
        line += "...";
    }
    return line;
}

std::string next_retry(const std::optional<Duration>& in) {
    if (!in) return "no retry";
    if (*in == WorkLog::by_backoff) return "next retry after the flow's backoff";
    return "next retry in " + in_seconds(*in);
}

}  // namespace

bool has_failed_run(const Write& write, const WriteOutcome& outcome) {
    return outcome.status == WriteStatus::done && write.is<seam::Finish>() &&
           write.as<seam::Finish>().status == RunStatus::error;
}

std::string in_seconds(std::chrono::steady_clock::duration time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

std::string subject_of(const HandlerSpec& spec, MessageId message) {
    if (spec.workflow) return fmt::format("run {} of workflow '{}'", message.value(), spec.queue);
    if (spec.flow) return fmt::format("a task of flow '{}'", spec.queue);
    return fmt::format("message {} of queue '{}'", message.value(), spec.queue);
}

WorkLog::WorkLog(
    base::Log log,
    const std::atomic<WorkerId>& worker,
    std::string name,
    const std::vector<QueueInfo>& queues
)
    : log_(std::move(log)), worker_(worker), name_(std::move(name)) {
    for (const QueueInfo& queue : queues) max_attempts_.emplace(queue.name, queue.max_attempts);
}

void WorkLog::write(LogLevel level, std::string_view text) const {
    log_.write(level, fmt::format("worker '{}' ({}): {}", name_, worker_.load().value(), text));
}

void WorkLog::write_limited(LogLevel level, std::string_view text) {
    {
        const std::lock_guard lock(mutex_);
        if (!limit_.allows(std::chrono::steady_clock::now())) return;
    }
    flush();
    write(level, text);
}

void WorkLog::flush() {
    int suppressed = 0;
    {
        const std::lock_guard lock(mutex_);
        suppressed = limit_.take_suppressed();
    }
    if (suppressed > 0)
        write(LogLevel::warning, fmt::format("suppressed {} lines about its work", suppressed));
}

void WorkLog::failed(std::string_view what, const Attempt& attempt, std::string_view error) {
    const std::string limit = attempt.limit > 0 ? fmt::format(" of {}", attempt.limit) : "";
    write_limited(
        attempt.retry_in ? LogLevel::warning : LogLevel::error,
        fmt::format(
            "{} failed, attempt {}{}, {}: {}",
            what,
            attempt.number,
            limit,
            next_retry(attempt.retry_in),
            one_line(error)
        )
    );
}

void WorkLog::run_failed(std::string_view what, const seam::Finish& end) {
    const model::RunError error = model::to_run_error(Json{end.result});
    write_limited(
        LogLevel::error, fmt::format("{} failed: {}", what, one_line(model::readable(error)))
    );
}

int WorkLog::max_attempts_of(const std::string& queue) const {
    const auto found = max_attempts_.find(queue);
    return found == max_attempts_.end() ? 0 : found->second;
}

void WorkLog::task_failed(const TaskCall& call, const seam::FailTask& failure) {
    const seam::ClaimedTask& task = call.task;
    Attempt attempt{task.attempts, task.max_attempts, {}};
    if (!failure.permanent && task.attempts < task.max_attempts)
        attempt.retry_in = failure.retry_delay.value_or(by_backoff);
    failed(call.subject(), attempt, failure.error);
}

void WorkLog::paused(std::string_view what, Duration check_after, std::string_view reason) {
    write_limited(
        LogLevel::info,
        fmt::format(
            "{} waits, next check in {}: {}", what, in_seconds(check_after), one_line(reason)
        )
    );
}

void WorkLog::taken_over(const Call& call, WorkerId from) {
    write_limited(
        LogLevel::warning,
        fmt::format(
            "took over {}: the lease of {} ended without a report",
            call.subject(),
            from ? fmt::format("worker {}", from.value()) : "an anonymous consumer"
        )
    );
}

void WorkLog::poisoned(const HandlerSpec& spec, MessageId message, std::string_view reason) {
    write_limited(
        LogLevel::error,
        fmt::format(
            "{} {}: {}",
            subject_of(spec, message),
            spec.workflow ? "failed" : "is a dead letter",
            reason
        )
    );
}

}  // namespace pawl::runtime
