// The user's own database transaction, for writes that shall commit with the user's own rows.
#pragma once

struct pg_conn;  // libpq's PGconn
struct sqlite3;

namespace pawl {

/// Names a connection with an open transaction. Not owned: it must live until the call returns, and
/// pawl sends nothing but its own statements over it. A plain PGconn* or sqlite3* converts.
class Transaction {
public:
    // NOLINTBEGIN(google-explicit-constructor)
    Transaction(pg_conn* connection) : postgres_(connection) {}
    Transaction(sqlite3* connection) : sqlite_(connection) {}
    // NOLINTEND(google-explicit-constructor)
    [[nodiscard]] pg_conn* postgres() const { return postgres_; }
    [[nodiscard]] sqlite3* sqlite() const { return sqlite_; }

private:
    pg_conn* postgres_ = nullptr;
    sqlite3* sqlite_ = nullptr;
};

}  // namespace pawl
