// The one place where SQLite's result codes become a pawl::Error.
#pragma once

#include <pawl/error.h>
#include <string>
#include <string_view>

struct sqlite3;

namespace pawl::sqlite {

// What an error has to name besides SQLite's own words.
struct ErrorContext {
    std::string file;
    Duration busy_timeout{};  // 0: the connection is not ours
};

[[nodiscard]] Error make_error(
    sqlite3* connection, int code, std::string_view statement, const ErrorContext& context
);
[[nodiscard]] Error busy_error(const ErrorContext& context);
[[nodiscard]] Error not_installed_error(const std::string& file);
[[nodiscard]] Error no_file_error(const std::string& file);

}  // namespace pawl::sqlite
