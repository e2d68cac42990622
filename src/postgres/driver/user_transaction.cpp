#include "postgres/driver/user_transaction.h"

#include "base/crash_point.h"
#include "postgres/driver/connection.h"

namespace pawl::postgres {

namespace {

void require_open_transaction(PGconn* connection) {
    if (connection == nullptr) {
        throw Error(
            ErrorCode::wrong_transaction,
            "this store is PostgreSQL: pass the PGconn* that has the open transaction"
        );
    }
    if (PQpipelineStatus(connection) != PQ_PIPELINE_OFF)
        throw Error(
            ErrorCode::wrong_transaction, "the connection is in pipeline mode: leave it first"
        );
    switch (PQtransactionStatus(connection)) {
        case PQTRANS_INTRANS:
            return;
        case PQTRANS_IDLE:
            throw Error(
                ErrorCode::wrong_transaction,
                "the connection has no open transaction: send BEGIN first"
            );
        case PQTRANS_INERROR:
            throw Error(
                ErrorCode::wrong_transaction, "the transaction has failed already: roll it back"
            );
        case PQTRANS_ACTIVE:
            throw Error(
                ErrorCode::wrong_transaction,
                "the connection is busy: read the pending results first"
            );
        case PQTRANS_UNKNOWN:
            break;
    }
    throw Error(ErrorCode::wrong_transaction, "the connection is not usable");
}

}  // namespace

UserTransaction::UserTransaction(Transaction transaction, std::string schema)
    : connection_(transaction.postgres()), schema_(std::move(schema)) {
    require_open_transaction(connection_);
}

Rows UserTransaction::run(const store::Statement& statement, const Params& params) {
    const std::string text = expand(statement.text, schema_);
    base::crash_point();
    PgResult result(PQexecParams(
        connection_,
        text.c_str(),
        params.count(),
        nullptr,
        params.values(),
        params.lengths(),
        params.formats(),
        1
    ));
    base::crash_point();
    if (PQresultStatus(result.get()) == PGRES_TUPLES_OK) return Rows(std::move(result));
    if (PQstatus(connection_) == CONNECTION_BAD) {
        // The transaction can no longer commit, so the outcome is not in doubt.
        throw Error(ErrorCode::connection_failed, connection_message(connection_)).mark_retryable();
    }
    throw to_error(server_error(result.get(), statement.name), schema_);
}

}  // namespace pawl::postgres
