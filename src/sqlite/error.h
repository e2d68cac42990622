// Converts SQLite's result codes to pawl::Error. The only place that does so.
#pragma once

#include <pawl/error.h>
#include <string>
#include <string_view>

struct sqlite3;

namespace pawl::sqlite {

// What an error names in addition to SQLite's message.
struct ErrorContext {
    std::string file;
    Duration busy_timeout{};  // 0: the user's connection
};

[[nodiscard]] Error make_error(
    sqlite3* connection, int code, std::string_view statement, const ErrorContext& context
);
[[nodiscard]] Error busy_error(const ErrorContext& context);
[[nodiscard]] Error not_installed_error(const std::string& file);
[[nodiscard]] Error no_file_error(const std::string& file);

}  // namespace pawl::sqlite
