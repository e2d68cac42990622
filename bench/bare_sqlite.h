// A plain SQLite connection, for the bare programs.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sqlite3.h>

namespace bench {

struct BareSqlite {
    explicit BareSqlite(const std::string& file) {
        const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
        check(sqlite3_open_v2(file.c_str(), &db, flags, nullptr));
        sqlite3_busy_timeout(db, 60'000);
        run("pragma journal_mode = wal; pragma synchronous = full; pragma foreign_keys = on");
    }
    ~BareSqlite() {
        for (auto* statement : statements) sqlite3_finalize(statement);
        sqlite3_close(db);
    }
    BareSqlite(const BareSqlite&) = delete;
    BareSqlite& operator=(const BareSqlite&) = delete;

    void check(int code) const {
        if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW)
            throw std::runtime_error(sqlite3_errmsg(db));
    }
    void run(const std::string& sql) const {
        check(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr));
    }
    sqlite3_stmt* prepare(const std::string& sql) {
        sqlite3_stmt* statement = nullptr;
        check(
            sqlite3_prepare_v3(db, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr)
        );
        statements.push_back(statement);
        return statement;
    }
    void step(sqlite3_stmt* statement) const {
        check(sqlite3_step(statement));
        sqlite3_reset(statement);
    }

    sqlite3* db = nullptr;
    std::vector<sqlite3_stmt*> statements;
};

inline void bind(sqlite3_stmt* statement, int place, std::string_view text) {
    sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

// Times in pawl's format.
[[nodiscard]] inline std::int64_t now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(
               std::chrono::system_clock::now().time_since_epoch()
    )
        .count();
}

}  // namespace bench
