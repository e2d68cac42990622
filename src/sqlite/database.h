// A connection to the file, configured and with prepared statements.
#pragma once

#include <chrono>
#include <random>
#include <string>
#include <sys/stat.h>

#include "sqlite/open_sqlite.h"
#include "sqlite/session.h"

namespace pawl::sqlite {

class Database {
public:
    using Deadline = std::chrono::steady_clock::time_point;
    enum class Role { creator, writer, reader };  // the creator creates a missing file

    Database(const SqliteTarget& target, const std::string& absolute_path, Role role);
    Database(const Database&) = delete;
    Database& operator=(const Database&) = delete;

    [[nodiscard]] Session& session() { return session_; }
    // The deadline for waiting for locks that other processes hold.
    void wait_for_locks_until(Deadline deadline) { deadline_ = deadline; }
    // Whether another file has replaced it. Throws Error(connection_failed) if the file does not
    // exist.
    [[nodiscard]] bool replaced() const;
    // The path of the file with symbolic links resolved: the -wal file is in the same folder.
    [[nodiscard]] std::string file() const;

private:
    static int on_busy(void* self, int tries);
    void configure(const SqliteTarget& target, Role role);
    [[nodiscard]] bool read_only() const;
    void switch_to_wal();

    struct FileId {
        dev_t device = 0;
        ino_t inode = 0;
        bool operator==(const FileId&) const = default;
    };
    [[nodiscard]] FileId file_id() const;

    const std::string path_;  // empty: in memory
    ConnectionHandle connection_;
    FileId opened_;
    Session session_;  // its statements are destroyed before the connection
    Deadline deadline_;
    std::minstd_rand random_{std::random_device{}()};
};

// Throws if the path cannot become a database. Returns the absolute path, so that later connections
// find the same file if the current folder changes.
[[nodiscard]] std::string check_path(const std::string& path);
[[nodiscard]] bool is_memory(const SqliteTarget& target);

}  // namespace pawl::sqlite
