// Runs named statements on a connection, ours or the user's. Prepares each once.
#pragma once

#include <cassert>
#include <cstdint>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <unordered_map>

#include "sqlite/error.h"
#include "sqlite/handle.h"
#include "store/statement.h"

namespace pawl::sqlite {

class Session;

// The rows of a running statement; resets it at its end, so it must not outlive the session.
class Rows {
public:
    enum class Texts { copied, referred_to };  // the latter must live until the statement has run

    template <class... Values>
    Rows(Session& session, const store::Statement& statement, Texts texts, const Values&... values);
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() { sqlite3_reset(native_); }

    [[nodiscard]] bool next();
    [[nodiscard]] bool null(int column) const {
        return sqlite3_column_type(native_, column) == SQLITE_NULL;
    }
    [[nodiscard]] std::int64_t integer(int column) const {
        return sqlite3_column_int64(native_, column);
    }
    [[nodiscard]] int number(int column) const { return sqlite3_column_int(native_, column); }
    [[nodiscard]] bool flag(int column) const { return number(column) != 0; }
    [[nodiscard]] std::string_view text(int column) const;  // until the next row; null is ""
    [[nodiscard]] Timestamp time(int column) const {
        return Timestamp(Timestamp::duration(integer(column)));
    }
    [[nodiscard]] std::optional<Timestamp> optional_time(int column) const {
        if (null(column)) return std::nullopt;
        return time(column);
    }
    [[nodiscard]] std::optional<Json> optional_json(int column) const {
        if (null(column)) return std::nullopt;
        return Json{std::string(text(column))};
    }
    template <class AnyId>
    [[nodiscard]] AnyId id(int column) const {
        return AnyId(integer(column));
    }

private:
    void bind(int index, std::string_view value, Texts texts);
    void bind(int index, std::int64_t value, Texts) {
        check(sqlite3_bind_int64(native_, index, value));
    }
    void bind(int index, std::nullopt_t, Texts) { check(sqlite3_bind_null(native_, index)); }
    void bind(int index, Timestamp value, Texts texts) {
        bind(index, static_cast<std::int64_t>(value.time_since_epoch().count()), texts);
    }
    template <class Tag>
    void bind(int index, Id<Tag> value, Texts texts) {  // no id is null
        if (value) {
            bind(index, value.value(), texts);
        } else {
            bind(index, std::nullopt, texts);
        }
    }
    template <class T>
    void bind(int index, const std::optional<T>& value, Texts texts) {
        if (value) {
            bind(index, *value, texts);
        } else {
            bind(index, std::nullopt, texts);
        }
    }

    void check(int code) const;

    Session& session_;
    const store::Statement& statement_;
    sqlite3_stmt* native_;
};

class Session {
public:
    Session(sqlite3* connection, ErrorContext context)
        : connection_(connection), context_(std::move(context)) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    template <class... Values>
    [[nodiscard]] Rows query(const store::Statement& statement, const Values&... values) {
        return Rows(*this, statement, Rows::Texts::copied, values...);
    }
    // Returns how many rows it changed.
    template <class... Values>
    std::int64_t execute(const store::Statement& statement, const Values&... values);
    void run_script(std::string_view name, std::string_view text);

    [[nodiscard]] sqlite3* native() const { return connection_; }
    [[nodiscard]] const ErrorContext& context() const { return context_; }
    [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }
    [[nodiscard]] std::int64_t last_id() const { return sqlite3_last_insert_rowid(connection_); }
    [[noreturn]] void fail(int code, std::string_view statement) const;

private:
    friend class Rows;
    sqlite3_stmt* prepared(const store::Statement& statement);

    sqlite3* connection_;
    ErrorContext context_;
    std::unordered_map<const char*, StatementHandle> statements_;  // by the place of the name
};

// Changes with each commit of another connection.
[[nodiscard]] std::int64_t data_version(Session& session);

[[nodiscard]] inline std::optional<std::int64_t> optional_milliseconds(
    const std::optional<Duration>& duration
) {
    if (!duration) return std::nullopt;
    return duration->count();
}

template <class... Values>
Rows::Rows(
    Session& session,
    const store::Statement& statement,
    [[maybe_unused]] Texts texts,
    const Values&... values
)
    : session_(session), statement_(statement), native_(session.prepared(statement)) {
    assert(sizeof...(values) == static_cast<std::size_t>(statement.parameters));
    [[maybe_unused]] int index = 0;
    (bind(++index, values, texts), ...);
}

template <class... Values>
std::int64_t Session::execute(const store::Statement& statement, const Values&... values) {
    Rows rows(*this, statement, Rows::Texts::referred_to, values...);
    while (rows.next()) {
    }
    return sqlite3_changes64(connection_);
}

}  // namespace pawl::sqlite
