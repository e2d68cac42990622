// Statements on a connection, of the store or of the user. Prepares each once.
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

    enum class Texts { copied, referred_to };  // references must outlive the run
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
    [[nodiscard]] int columns() const { return sqlite3_column_count(native_.get()); }

private:
    [[nodiscard]] int bind(int index, const rowstore::Value& value, Texts texts);

    const Session& session_;
    const std::string_view name_;
    StatementHandle native_;
};

class Session : public rowstore::Session {
public:
    Session(
        sqlite3* connection,
        ErrorContext context,
        rowstore::RoundTrips round_trips = rowstore::RoundTrips::free
    )
        : rowstore::Session(round_trips), connection_(connection), context_(std::move(context)) {}

    void run_script(std::string_view name, std::string_view text);

    [[nodiscard]] sqlite3* native() const { return connection_; }
    [[nodiscard]] const ErrorContext& context() const { return context_; }
    [[nodiscard]] bool in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }
    [[noreturn]] void fail(int code, std::string_view statement) const;

protected:
    [[nodiscard]] rowstore::Cursor& open(
        const store::Statement& statement, std::span<const rowstore::Value> parameters
    ) override;
    std::int64_t run(const store::Statement& statement, std::span<const rowstore::Value> parameters)
        override;
    [[nodiscard]] std::int64_t last_id() const override {
        return sqlite3_last_insert_rowid(connection_);
    }

private:
    [[nodiscard]] PreparedStatement& prepared(const store::Statement& statement);

    sqlite3* connection_;
    ErrorContext context_;
    std::unordered_map<const char*, PreparedStatement> statements_;  // by the address of the name
};

// Changes with each commit of another connection.
[[nodiscard]] std::int64_t data_version(Session& session);

}  // namespace pawl::sqlite
