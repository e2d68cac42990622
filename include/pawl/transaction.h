// The caller's own database transaction, for writes that must commit together with the caller's
// rows.
#pragma once

#include <pawl/export.h>

struct pg_conn;  // libpq's PGconn
struct sqlite3;

namespace pawl::inline v0 {

/// Names a connection with an open transaction. A plain PGconn* or sqlite3* converts. The
/// connection is not owned: it must live until the call returns, and no other thread may use it
/// meanwhile. pawl sends only its own statements over it, and neither commits nor rolls back. Calls
/// throw wrong_transaction if it has no open transaction or is of another kind of database.
class Transaction {
public:
    // NOLINTBEGIN(google-explicit-constructor)
    /// @{
    /// A connection with an open transaction.
    Transaction(pg_conn* connection) : postgres_(connection) {}
    Transaction(sqlite3* connection) : sqlite_(connection) {}
    /// @}

    // NOLINTEND(google-explicit-constructor)
    /// @{
    /// One of these is nullptr.
    [[nodiscard]] pg_conn* postgres() const { return postgres_; }
    [[nodiscard]] sqlite3* sqlite() const { return sqlite_; }
    /// @}

private:
    pg_conn* postgres_ = nullptr;
    sqlite3* sqlite_ = nullptr;
};

}  // namespace pawl::inline v0
