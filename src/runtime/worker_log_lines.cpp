// The worker's log lines about itself, and waits for its handlers.
#include <algorithm>
#include <fmt/format.h>

#include "runtime/worker_runtime.h"

namespace pawl::runtime {

namespace {

constexpr std::size_t names_shown = 10;
constexpr Duration stuck_again = 30s;

std::string names_of(const std::vector<HandlerSpec>& handlers) {
    std::string names;
    for (std::size_t i = 0; i < std::min(handlers.size(), names_shown); ++i)
        names += (i > 0 ? ", " : "") + handlers[i].queue;
    if (handlers.size() > names_shown)
        names += fmt::format(" and {} more", handlers.size() - names_shown);
    return handlers.empty() ? "nothing" : names;
}

}  // namespace

void WorkerRuntime::log_start() {
    log_->write(
        LogLevel::info,
        fmt::format(
            "started on {}, pid {}, concurrency {}, handles {}{}",
            description_.host,
            description_.pid,
            options_.concurrency,
            names_of(options_.handlers),
            options_.outbox_sink ? ", dispatches the outbox" : ""
        )
    );
}

void WorkerRuntime::log_drain(Duration deadline) {
    log_->write(
        LogLevel::info,
        fmt::format(
            "draining, {} handlers running, deadline {} ms", executor_->running(), deadline.count()
        )
    );
}

void WorkerRuntime::wait_for_handlers(Duration stuck_after) {
    using Clock = std::chrono::steady_clock;
    for (Duration wait = stuck_after; !executor_->wait_until_idle(Clock::now() + wait);
         wait = stuck_again) {
        for (const std::string& line : executor_->describe_running())
            log_->write(LogLevel::warning, "waits for a handler that does not return: " + line);
    }
}

bool WorkerRuntime::signal_arrived() {
    const std::lock_guard lock(mutex_);
    return signals_ && signals_->arrived();
}

void WorkerRuntime::restore_signals() {
    const std::lock_guard lock(mutex_);
    signals_.reset();
}

}  // namespace pawl::runtime
