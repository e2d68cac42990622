// Log lines: where pawl reports what its workers do and what goes wrong. See docs/logging.md.
#pragma once

#include <functional>
#include <pawl/export.h>
#include <string_view>

namespace pawl::inline v0 {

/// How important a line is. warning: something failed and is retried, or needs attention. error:
/// work has failed for good.
enum class LogLevel { debug, info, warning, error };
/// The name: "debug", "info", "warning", "error".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(LogLevel level);

/// Receives each log line: see ConnectOptions::log. Called from any thread, one call at a time. It
/// must return quickly, and must not call back into the store.
using LogHook = std::function<void(LogLevel, std::string_view message)>;

/// The default hook. Writes lines of level info and above to standard error, with the time. The
/// environment variable PAWL_LOG changes the level: debug, info, warning, error or off.
PAWL_EXPORT void log_to_stderr(LogLevel level, std::string_view message);

}  // namespace pawl::inline v0
