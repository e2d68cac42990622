#include "sqlite/error.h"

#include <fmt/format.h>

#include <sqlite3.h>

namespace pawl::sqlite {

namespace {

bool names_our_table(std::string_view message) {
    constexpr std::string_view prefix = "no such table: ";
    if (!message.starts_with(prefix)) return false;
    message.remove_prefix(prefix.size());
    return message.starts_with("pawl_") || message.starts_with("main.pawl_");
}

}  // namespace

Error busy_error(const ErrorContext& context) {
    if (context.busy_timeout ==
        Duration::zero()) {  // the user's connection, with the user's settings
        return Error(
                   ErrorCode::busy,
                   fmt::format(
                       "'{}' is locked by another writer: start the transaction with BEGIN "
                       "IMMEDIATE, after sqlite3_busy_timeout()",
                       context.file
                   )
        )
            .mark_retryable();
    }
    return Error(
               ErrorCode::busy,
               fmt::format(
                   "'{}' was locked by another writer for longer than busy_timeout ({} ms)",
                   context.file,
                   context.busy_timeout.count()
               )
    )
        .mark_retryable();
}

Error not_installed_error(const std::string& file) {
    return {
        ErrorCode::not_installed,
        fmt::format("'{}' has no pawl schema; create it with store.install()", file)};
}

Error no_file_error(const std::string& file) {
    return {
        ErrorCode::not_installed,
        fmt::format("'{}' does not exist; create it with store.install()", file)};
}

Error make_error(
    sqlite3* connection, int code, std::string_view statement, const ErrorContext& context
) {
    const std::string_view message = connection ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
    const auto trouble = [&](std::string_view hint) {
        return Error(
            ErrorCode::connection_failed, fmt::format("'{}': {}{}", context.file, message, hint)
        );
    };
    switch (code & 0xff) {
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return busy_error(context);
        case SQLITE_CANTOPEN:
        case SQLITE_READONLY:
        case SQLITE_PERM:
            return trouble(" (the file and its folder must be writable)");
        case SQLITE_FULL:
            return trouble(" (free space on the disk)").mark_retryable();
        case SQLITE_IOERR:
            return trouble("").mark_retryable();
        case SQLITE_NOTADB:
            return trouble(" (use the path of an SQLite database, or of a new file)");
        case SQLITE_CORRUPT:
        case SQLITE_PROTOCOL:
        case SQLITE_NOMEM:
            return trouble("");
        default:
            break;
    }
    if (names_our_table(message)) return not_installed_error(context.file);
    return {
        ErrorCode::database_error, fmt::format("'{}', {}: {}", context.file, statement, message)};
}

}  // namespace pawl::sqlite
