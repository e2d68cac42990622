#include "sqlite/user_session.h"

#include <fmt/format.h>

#include "generated/sqlite_sql.h"

namespace pawl::sqlite {

Session user_session(const Transaction& transaction, std::string_view call) {
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
    const char* file = sqlite3_db_filename(transaction.sqlite(), "main");
    Session session{
        transaction.sqlite(), ErrorContext{file && *file ? file : ":memory:", Duration{}}};
    // A transaction that has begun with a plain BEGIN would become a reader by our first look, and
    // could write no more after somebody else has. So it writes first, and waits for its turn
    // there.
    session.execute(sql::take_write_lock);
    return session;
}

}  // namespace pawl::sqlite
