#include "base/log.h"

#include <cstdio>

namespace pawl {

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

void log_to_stderr(LogLevel level, std::string_view message) {
    if (level < LogLevel::warning) return;
    std::string line("pawl ");
    line.append(to_string(level)).append(": ").append(message).append("\n");
    std::fwrite(line.data(), 1, line.size(), stderr);
}

namespace base {

void Log::write(LogLevel level, std::string_view message) const {
    const std::lock_guard lock(state_->mutex);
    if (!state_->hook) return;
    try {
        state_->hook(level, message);
    } catch (...
    ) {  // NOLINT(bugprone-empty-catch): a broken log hook must not break a worker thread
    }
}

}  // namespace base
}  // namespace pawl
