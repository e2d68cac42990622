#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "postgres/postgres_store.h"

namespace pawl::postgres {

namespace {

enum class Wake { in_transaction, after_commit };

Params enqueue_params(const std::string& queue, std::span<const NewMessage> messages, Wake wake) {
    std::vector<std::string_view> payloads;
    std::vector<int> priorities;
    std::vector<std::int64_t> delays_ms;
    std::vector<std::optional<Timestamp>> ats;
    for (const auto& message : messages) {
        payloads.emplace_back(message.payload.text);
        priorities.push_back(message.options.priority);
        delays_ms.push_back(message.options.delay.count());
        ats.push_back(message.options.at);
    }
    Params params;
    params.text(queue).json_array(payloads).int4_array(priorities).int8_array(delays_ms);
    params.time_array(ats).boolean(wake == Wake::in_transaction);
    return params;
}

std::vector<MessageId> read_ids(const Rows& rows) {
    std::vector<MessageId> ids;
    for (const auto id : rows.int8_array(0, 0)) ids.emplace_back(id);
    return ids;
}

// Over the caller's connection: nothing is prepared, nothing but the two statements is sent.
Rows run_in(
    PGconn* connection,
    std::string_view schema,
    const std::string& text,
    std::string_view name,
    const Params& params
) {
    PgResult result(PQexecParams(
        connection,
        text.c_str(),
        params.count(),
        nullptr,
        params.values(),
        params.lengths(),
        params.formats(),
        1
    ));
    if (PQresultStatus(result.get()) == PGRES_TUPLES_OK) return Rows(std::move(result));
    if (PQstatus(connection) == CONNECTION_BAD) {
        // The transaction cannot commit any more, so there is no doubt.
        throw Error(ErrorCode::connection_failed, connection_message(connection)).mark_retryable();
    }
    throw to_error(server_error(result.get(), name), schema);
}

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

std::vector<MessageId> PostgresStore::enqueue(
    const std::string& queue, std::span<const NewMessage> messages
) {
    const Rows rows = call(
        sql::enqueue_batch, enqueue_params(queue, messages, Wake::after_commit), Access::write
    );
    wake(QueueId(rows.int8(0, 1)));
    return read_ids(rows);
}

std::vector<MessageId> PostgresStore::enqueue_in(
    Transaction transaction, const std::string& queue, std::span<const NewMessage> messages
) {
    PGconn* const connection = transaction.postgres();
    require_open_transaction(connection);
    const auto text = [&](const store::Statement& statement) {
        return pool_.lend()->expand(statement.text);
    };
    // An unknown queue is found by a read: a failing statement would end the caller's transaction.
    Params name;
    name.text_array(std::span(&queue, 1));
    const Rows found = run_in(
        connection, target_.schema, text(sql::resolve_queues), sql::resolve_queues.name, name
    );
    if (found.int8(0, 0) == 0) {
        throw Error(
            ErrorCode::queue_not_found,
            fmt::format("queue '{}' does not exist: create it first", queue)
        );
    }
    return read_ids(run_in(
        connection,
        target_.schema,
        text(sql::enqueue_batch),
        sql::enqueue_batch.name,
        enqueue_params(queue, messages, Wake::in_transaction)
    ));
}

}  // namespace pawl::postgres
