// Statements on a connection, ours or the user's. Prepares each once.
#pragma once

#include <string_view>
#include <unordered_map>

#include "rowstore/session.h"
#include "sqlite/error.h"
#include "sqlite/handle.h"

namespace pawl::sqlite {

using rowstore::Rows;
class Session;

// A prepared statement of a session.
class PreparedStatement final : public rowstore::Cursor {
public:
    PreparedStatement(
        const Session& session, const store::Statement& statement, StatementHandle native
    )
        : session_(session), name_(statement.name), native_(std::move(native)) {}

    enum class Texts { copied, referred_to };  // the latter must live until the statement has run
    void bind(std::span<const rowstore::Value> parameters, Texts texts);

    [[nodiscard]] bool next() override;
    [[nodiscard]] bool null(int column) const override {
        return sqlite3_column_type(native_.get(), column) == SQLITE_NULL;
    }
    [[nodiscard]] std::int64_t integer(int column) const override {
        return sqlite3_column_int64(native_.get(), column);
    }
    [[nodiscard]] std::string_view text(int column) const override;
    void close() noexcept override { sqlite3_reset(native_.get()); }

private:
    [[nodiscard]] int bind(int index, const rowstore::Value& value, Texts texts);

    const Session& session_;
    const std::string_view name_;
    StatementHandle native_;
};

class Session : public rowstore::Session {
public:
    Session(sqlite3* connection, ErrorContext context)
        : connection_(connection), context_(std::move(context)) {}

    void run_script(std::string_view name, std::string_view text);

    [[nodiscard]] sqlite3* native() const { return connection_; }
    [[nodiscard]] const ErrorContext& context() const { return context_; }
    [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }
    [[noreturn]] void fail(int code, std::string_view statement) const;

private:
    [[nodiscard]] rowstore::Cursor& open(
        const store::Statement& statement, std::span<const rowstore::Value> parameters
    ) override;
    std::int64_t run(const store::Statement& statement, std::span<const rowstore::Value> parameters)
        override;
    [[nodiscard]] std::int64_t last_id() const override {
        return sqlite3_last_insert_rowid(connection_);
    }
    [[nodiscard]] PreparedStatement& prepared(const store::Statement& statement);

    sqlite3* connection_;
    ErrorContext context_;
    std::unordered_map<const char*, PreparedStatement> statements_;  // by the place of the name
};

// Changes with each commit of another connection.
[[nodiscard]] std::int64_t data_version(Session& session);

}  // namespace pawl::sqlite
