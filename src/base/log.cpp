#include "base/log.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <optional>

namespace pawl::inline v0 {

std::string_view to_string(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return "debug";
        case LogLevel::info:
            return "info";
        case LogLevel::warning:
            return "warning";
        case LogLevel::error:
            return "error";
    }
    return "unknown";
}

namespace {

// PAWL_LOG is a level or "off". Any other value means info.
std::optional<LogLevel> least_level() {
    const char* const value = std::getenv("PAWL_LOG");
    const std::string_view wanted = value == nullptr ? "" : value;
    if (wanted == "off") return std::nullopt;
    for (const LogLevel level : {LogLevel::debug, LogLevel::warning, LogLevel::error}) {
        if (wanted == to_string(level)) return level;
    }
    return LogLevel::info;
}

std::string utc_now() {
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto part = std::chrono::floor<std::chrono::milliseconds>(now.time_since_epoch()) % 1s;
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 32> text{};
    const std::size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
    return fmt::format("{}.{:03}Z", std::string_view(text.data(), size), part.count());
}

}  // namespace

void log_to_stderr(LogLevel level, std::string_view message) {
    static const std::optional<LogLevel> least = least_level();
    if (!least || level < *least) return;
    const std::string line = fmt::format("{} {} pawl: {}\n", utc_now(), to_string(level), message);
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace pawl::inline v0

namespace pawl::base {

void Log::write(LogLevel level, std::string_view message) const {
    const std::lock_guard lock(state_->mutex);
    if (!state_->hook) return;
    try {
        state_->hook(level, message);
    } catch (...
    ) {  // NOLINT(bugprone-empty-catch): a broken log hook must not break a worker thread
    }
}

}  // namespace pawl::base
