#include "sqlite/session.h"

#include "model/check.h"

namespace pawl::sqlite {

using rowstore::Cursor;
using rowstore::Value;

bool PreparedStatement::next() {
    const int code = sqlite3_step(native_.get());
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    session_.fail(code, name_);
}

std::string_view PreparedStatement::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(native_.get(), column));
    if (!bytes) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(native_.get(), column))};
}

void PreparedStatement::bind(std::span<const Value> parameters, Texts texts) {
    int index = 0;
    for (const Value& value : parameters) {
        const int code = bind(++index, value, texts);
        if (code != SQLITE_OK) session_.fail(code, name_);
    }
}

int PreparedStatement::bind(int index, const Value& value, Texts texts) {
    switch (value.kind()) {
        case Value::Kind::null:
            return sqlite3_bind_null(native_.get(), index);
        case Value::Kind::integer:
            return sqlite3_bind_int64(native_.get(), index, value.integer());
        case Value::Kind::text:
            break;
    }
    model::check_parameter(value.text());
    return sqlite3_bind_text64(
        native_.get(),
        index,
        value.text().data() ? value.text().data() : "",  // a null pointer would bind null
        value.text().size(),
        texts == Texts::copied ? SQLITE_TRANSIENT : SQLITE_STATIC,
        SQLITE_UTF8
    );
}

PreparedStatement& Session::prepared(const store::Statement& statement) {
    const auto found = statements_.find(statement.name.data());
    if (found != statements_.end()) return found->second;
    sqlite3_stmt* made = nullptr;
    const int code = sqlite3_prepare_v3(
        connection_,
        statement.text.data(),
        static_cast<int>(statement.text.size()),
        SQLITE_PREPARE_PERSISTENT,
        &made,
        nullptr
    );
    StatementHandle native(made);
    if (code != SQLITE_OK) fail(code, statement.name);
    return statements_.try_emplace(statement.name.data(), *this, statement, std::move(native))
        .first->second;
}

Cursor& Session::open(const store::Statement& statement, std::span<const Value> parameters) {
    PreparedStatement& prepared_one = prepared(statement);
    prepared_one.bind(parameters, PreparedStatement::Texts::copied);
    return prepared_one;
}

std::int64_t Session::run(const store::Statement& statement, std::span<const Value> parameters) {
    PreparedStatement& prepared_one = prepared(statement);
    Rows rows(prepared_one);
    prepared_one.bind(parameters, PreparedStatement::Texts::referred_to);
    while (rows.next()) {
    }
    return sqlite3_changes64(connection_);
}

void Session::run_script(std::string_view name, std::string_view text) {
    const int code =
        sqlite3_exec(connection_, std::string(text).c_str(), nullptr, nullptr, nullptr);
    if (code != SQLITE_OK) fail(code, name);
}

void Session::fail(int code, std::string_view statement) const {
    throw make_error(connection_, code, statement, context_);
}

std::int64_t data_version(Session& session) {
    static constexpr store::Statement statement{"data_version", "pragma data_version", 0};
    Rows rows = session.query(statement);
    return rows.next() ? rows.integer(0) : 0;
}

}  // namespace pawl::sqlite
