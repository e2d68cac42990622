#include "sqlite/user_session.h"

#include <fmt/format.h>

#include "generated/sqlite_sql.h"
#include "sqlite/schema.h"

namespace pawl::sqlite {

namespace {

sqlite3* checked_connection(const Transaction& transaction, std::string_view call) {
    if (!transaction.sqlite()) {
        throw Error(
            ErrorCode::wrong_transaction,
            fmt::format(
                "this store is an SQLite file: {} needs the sqlite3* of a connection to it", call
            )
        );
    }
    if (sqlite3_get_autocommit(transaction.sqlite()) != 0) {
        throw Error(
            ErrorCode::wrong_transaction,
            fmt::format("the connection given to {} has no open transaction: begin one first", call)
        );
    }
    return transaction.sqlite();
}

ErrorContext context_of(sqlite3* connection) {
    const char* file = sqlite3_db_filename(connection, "main");
    return {file && *file ? file : ":memory:", Duration{}};
}

}  // namespace

// A transaction that began with a plain BEGIN would become a reader with our first query, and could
// no longer write after another process has. So it writes first, and waits for the lock there.
UserSession::UserSession(const Transaction& transaction, std::string_view call)
    : Session(
          checked_connection(transaction, call), context_of(checked_connection(transaction, call))
      ) {
    execute(sql::take_write_lock);
    require_schema(*this);
}

}  // namespace pawl::sqlite
