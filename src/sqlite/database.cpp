#include "sqlite/database.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <system_error>
#include <thread>

namespace pawl::sqlite {

namespace {

using std::chrono::steady_clock;

constexpr store::Statement journal_mode{"journal_mode", "pragma journal_mode", 0};
constexpr store::Statement journal_mode_wal{"journal_mode_wal", "pragma journal_mode = wal", 0};
constexpr store::Statement synchronous_full{"synchronous_full", "pragma synchronous = full", 0};
constexpr store::Statement synchronous_normal{
    "synchronous_normal", "pragma synchronous = normal", 0};
constexpr store::Statement foreign_keys_on{"foreign_keys", "pragma foreign_keys = on", 0};
constexpr store::Statement query_only_on{"query_only", "pragma query_only = on", 0};

[[noreturn]] void cannot_open(std::string_view path, std::string_view why) {
    throw Error(ErrorCode::connection_failed, fmt::format("cannot open '{}': {}", path, why));
}

int try_open(const std::string& name, int flags, ConnectionHandle& handle) {
    sqlite3* opened = nullptr;
    int code = sqlite3_open_v2(name.c_str(), &opened, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    handle.reset(opened);
    if (code != SQLITE_OK) return code;
    sqlite3_extended_result_codes(opened, 1);
    // The file is first read here: a file in WAL mode may be refused.
    if (sqlite3_db_readonly(opened, "main") == 1)
        code = sqlite3_exec(opened, "pragma schema_version", nullptr, nullptr, nullptr);
    return code;
}

// Encodes characters that have a meaning in a URI as %XX.
std::string as_uri(const std::string& path) {
    std::string uri = "file:";
    for (const char c : path) {
        if (c == '%' || c == '?' || c == '#') {
            uri += fmt::format("%{:02x}", static_cast<unsigned char>(c));
        } else {
            uri.push_back(c);
        }
    }
    return uri;
}

// A file in a folder in which no -shm file can be created: readable if no process writes to it, and
// then there is no -wal file.
bool has_no_writer(const std::string& path) {
    std::error_code ignored;
    const std::string wal = path + "-wal";
    return !std::filesystem::exists(wal, ignored) || std::filesystem::file_size(wal, ignored) == 0;
}

ConnectionHandle open_connection(
    const SqliteTarget& target, const std::string& absolute_path, Database::Role role
) {
    int flags = SQLITE_OPEN_READWRITE;  // falls back to read-only by itself
    if (role == Database::Role::creator) flags |= SQLITE_OPEN_CREATE;
    ConnectionHandle handle;
    int code = try_open(absolute_path, flags, handle);
    if (code == SQLITE_OK) return handle;
    std::error_code ignored;
    if (role != Database::Role::creator && !std::filesystem::exists(absolute_path, ignored))
        throw no_file_error(target.path);
    const int primary = code & 0xff;
    if ((primary == SQLITE_CANTOPEN || primary == SQLITE_READONLY) &&
        has_no_writer(absolute_path)) {
        const int immutable = try_open(
            as_uri(absolute_path) + "?immutable=1", SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, handle
        );
        if (immutable == SQLITE_OK) return handle;
    }
    cannot_open(
        target.path,
        fmt::format(
            "{} (the file and its folder must be readable and writable)", sqlite3_errstr(code)
        )
    );
}

std::string read_text(Session& session, const store::Statement& statement) {
    Rows rows = session.query(statement);
    return rows.next() ? std::string(rows.text(0)) : std::string();
}

}  // namespace

bool is_memory(const SqliteTarget& target) {
    return target.path == ":memory:";
}

std::string check_path(const std::string& path) {
    if (path == ":memory:") return path;
    if (path.empty()) cannot_open(path, "the path is empty: name a file, or use :memory:");
    std::error_code ignored;
    const std::filesystem::path file(path);
    const std::filesystem::path folder = file.parent_path();
    if (!folder.empty() && !std::filesystem::exists(folder, ignored)) {
        cannot_open(
            path, fmt::format("the folder '{}' does not exist: create it first", folder.string())
        );
    }
    if (!folder.empty() && !std::filesystem::is_directory(folder, ignored))
        cannot_open(path, fmt::format("'{}' is not a folder", folder.string()));
    if (std::filesystem::is_directory(file, ignored))
        cannot_open(path, "it is a folder: name a file in it");
    return std::filesystem::absolute(file).string();
}

Database::Database(const SqliteTarget& target, const std::string& absolute_path, Role role)
    : path_(is_memory(target) ? std::string() : absolute_path),
      connection_(open_connection(target, absolute_path, role)),
      session_(connection_.get(), ErrorContext{target.path, target.busy_timeout}),
      deadline_(steady_clock::now() + target.busy_timeout) {
    opened_ = file_id();
    sqlite3_busy_handler(connection_.get(), &Database::on_busy, this);
    try {
        configure(target, role);
    } catch (const Error& error) {
        if (error.code() != ErrorCode::connection_failed) throw;
        throw Error(ErrorCode::connection_failed, fmt::format("cannot open {}", error.what()));
    }
}

void Database::configure(const SqliteTarget& target, Role role) {
    session_.execute(
        target.synchronous == SqliteTarget::Synchronous::full ? synchronous_full
                                                              : synchronous_normal
    );
    session_.execute(foreign_keys_on);
    if (!is_memory(target) && !read_only() && read_text(session_, journal_mode) != "wal")
        switch_to_wal();
    if (role == Role::reader) session_.execute(query_only_on);
}

// Two processes that open a new file together both need it exclusively, and SQLite refuses one of
// them immediately, without calling the busy handler, to avoid a deadlock. So it is retried.
void Database::switch_to_wal() {
    for (;;) {
        try {
            const std::string mode = read_text(session_, journal_mode_wal);
            if (mode == "wal") return;
            throw Error(
                ErrorCode::connection_failed,
                fmt::format(
                    "'{}': write-ahead logging is not possible here (journal mode {}): use a local "
                    "file system",
                    session_.context().file,
                    mode
                )
            );
        } catch (const Error& error) {
            if (error.code() != ErrorCode::busy || steady_clock::now() >= deadline_) throw;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1 + random_() % 10));
    }
}

Database::FileId Database::file_id() const {
    struct stat found {};
    if (path_.empty()) return {};
    if (stat(path_.c_str(), &found) == 0) return {found.st_dev, found.st_ino};
    throw Error(
        ErrorCode::connection_failed,
        fmt::format("'{}' was removed while it was in use; restore it", session_.context().file)
    )
        .mark_retryable();
}

bool Database::replaced() const {
    return file_id() != opened_;
}

bool Database::read_only() const {
    return sqlite3_db_readonly(connection_.get(), "main") == 1;
}

std::string Database::file() const {
    const char* name = sqlite3_db_filename(connection_.get(), "main");
    return name ? name : "";
}

// Commits are short, so the wait starts with a fraction of a millisecond. SQLite's own handler
// sleeps up to 100 ms at a time and lets busy processes starve the others.
int Database::on_busy(void* self, int tries) {
    auto& database = *static_cast<Database*>(self);
    const auto now = steady_clock::now();
    if (now >= database.deadline_) return 0;
    const long longest = 100L << std::min(tries, 6);  // microseconds
    const auto pause =
        std::chrono::microseconds(longest / 2 + static_cast<long>(database.random_()) % longest);
    std::this_thread::sleep_for(std::min<steady_clock::duration>(pause, database.deadline_ - now));
    return 1;
}

}  // namespace pawl::sqlite
