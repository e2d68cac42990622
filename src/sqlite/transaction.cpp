#include "sqlite/transaction.h"

#include "base/crash_point.h"

namespace pawl::sqlite {

namespace {

constexpr store::Statement begin_immediate{"begin_immediate", "begin immediate", 0};
constexpr store::Statement begin_deferred{"begin_deferred", "begin deferred", 0};
constexpr store::Statement commit_statement{"commit", "commit", 0};
constexpr store::Statement rollback_statement{"rollback", "rollback", 0};
constexpr store::Statement savepoint_open{"savepoint", "savepoint pawl_part", 0};
constexpr store::Statement savepoint_release{"release", "release pawl_part", 0};
constexpr store::Statement savepoint_undo{"rollback_to", "rollback to pawl_part", 0};

// For destructors: if the rollback fails, closing the connection drops the transaction.
void quietly(Session& session, const store::Statement& statement) noexcept {
    try {
        session.execute(statement);
    } catch (...) {  // NOLINT(bugprone-empty-catch)
    }
}

}  // namespace

WriteTransaction::WriteTransaction(Session& session) : session_(session) {
    base::crash_point();
    session_.execute(begin_immediate);
}

WriteTransaction::~WriteTransaction() {
    if (session_.in_transaction()) quietly(session_, rollback_statement);
}

void WriteTransaction::commit() {
    base::crash_point();
    try {
        session_.execute(commit_statement);
    } catch (Error& error) {
        const int code = sqlite3_errcode(session_.native()) & 0xff;
        if (code == SQLITE_IOERR) error.mark_in_doubt();
        throw;
    }
    base::crash_point();
}

ReadTransaction::ReadTransaction(Session& session) : session_(session) {
    base::crash_point();
    session_.execute(begin_deferred);
}

ReadTransaction::~ReadTransaction() {
    if (session_.in_transaction()) quietly(session_, commit_statement);
    if (session_.in_transaction()) quietly(session_, rollback_statement);
    base::crash_point();
}

Savepoint::Savepoint(Session& session) : session_(session) {
    session_.execute(savepoint_open);
}

// A trigger's raise(rollback) has ended the whole transaction, including the savepoint.
Savepoint::~Savepoint() {
    if (!open_ || !session_.in_transaction()) return;
    quietly(session_, savepoint_undo);
    quietly(session_, savepoint_release);
}

void Savepoint::release() {
    session_.execute(savepoint_release);
    open_ = false;
}

}  // namespace pawl::sqlite
