#include "sqlite/session.h"

#include "model/check.h"

namespace pawl::sqlite {

bool Rows::next() {
    const int code = sqlite3_step(native_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    session_.fail(code, statement_.name);
}

std::string_view Rows::text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(native_, column));
    if (!bytes) return {};
    return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(native_, column))};
}

void Rows::bind(int index, std::string_view value, Texts texts) {
    model::check_parameter(value);
    check(sqlite3_bind_text64(
        native_,
        index,
        value.data() ? value.data() : "",  // a null pointer would bind null
        value.size(),
        texts == Texts::copied ? SQLITE_TRANSIENT : SQLITE_STATIC,
        SQLITE_UTF8
    ));
}

void Rows::check(int code) const {
    if (code != SQLITE_OK) session_.fail(code, statement_.name);
}

sqlite3_stmt* Session::prepared(const store::Statement& statement) {
    StatementHandle& cached = statements_[statement.name.data()];
    if (!cached) {
        sqlite3_stmt* made = nullptr;
        const int code = sqlite3_prepare_v3(
            connection_,
            statement.text.data(),
            static_cast<int>(statement.text.size()),
            SQLITE_PREPARE_PERSISTENT,
            &made,
            nullptr
        );
        cached.reset(made);
        if (code != SQLITE_OK) fail(code, statement.name);
    }
    return cached.get();
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
