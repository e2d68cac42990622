// Making a connection: within the timeout, and with nothing secret in the errors.
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <poll.h>

#include "base/deadline.h"
#include "postgres/connection.h"
#include "store/url.h"

namespace pawl::postgres {

namespace {

using Clock = std::chrono::steady_clock;

// Later keywords win over the URL, which is expanded in `dbname`; so these are defaults only where
// they stand before it.
PgConnection start(const PostgresTarget& target) {
    const std::array<const char*, 9> keywords{
        "application_name",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "dbname",
        "client_encoding",
        nullptr,
        nullptr};
    const std::array<const char*, 9> values{
        "pawl", "10", "5", "3", "20000", target.url.c_str(), "UTF8", nullptr, nullptr};
    return PgConnection(PQconnectStartParams(keywords.data(), values.data(), 1));
}

std::string where(const PGconn* connection) {
    const char* host = PQhost(connection);
    const char* port = PQport(connection);
    const char* database = PQdb(connection);
    return fmt::format(
        "PostgreSQL at {}:{}, database '{}'",
        host == nullptr ? "?" : host,
        port == nullptr ? "?" : port,
        database == nullptr ? "?" : database
    );
}

[[noreturn]] void fail(ErrorCode code, const std::string& message) {
    throw Error(code, message).mark_retryable();
}

void wait_until_connected(PGconn* connection, Clock::time_point deadline) {
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED) {
            fail(
                ErrorCode::connection_failed,
                fmt::format(
                    "cannot connect to {}: {}", where(connection), connection_message(connection)
                )
            );
        }
        const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now());
        pollfd waiting{
            PQsocket(connection),
            static_cast<short>(status == PGRES_POLLING_READING ? POLLIN : POLLOUT),
            0};
        if (left <= Duration::zero() || poll(&waiting, 1, static_cast<int>(left.count())) == 0) {
            fail(ErrorCode::timeout, fmt::format("no answer from {} in time", where(connection)));
        }
        status = PQconnectPoll(connection);
    }
}

// libpq's words about a URL that it cannot read quote the URL, password and all.
void refuse_unreadable(const std::string& url) {
    const std::unique_ptr<PQconninfoOption, Deleter<PQconninfoFree>> parsed(
        PQconninfoParse(url.c_str(), nullptr)
    );
    if (parsed) return;
    throw Error(
        ErrorCode::invalid_url,
        fmt::format(
            "libpq cannot read the URL '{}': check user, host, port, database and parameters "
            "(special "
            "characters are written %XX)",
            store::redacted(url)
        )
    );
}

// The server's first answer, within the same timeout as the connection. A pooler invents the
// process id it tells its clients, so the true one gives it away.
void check_first_answer(PGconn* connection, Pooler pooler, Clock::time_point deadline) {
    if (PQsendQuery(connection, "select pg_backend_pid()::text") != 1)
        fail(ErrorCode::connection_failed, connection_message(connection));
    while (PQisBusy(connection) == 1) {
        const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now());
        pollfd waiting{PQsocket(connection), POLLIN, 0};
        if (left <= Duration::zero() || poll(&waiting, 1, static_cast<int>(left.count())) == 0)
            fail(ErrorCode::timeout, fmt::format("no answer from {} in time", where(connection)));
        if (PQconsumeInput(connection) != 1)
            fail(ErrorCode::connection_failed, connection_message(connection));
    }
    const PgResult result(PQgetResult(connection));
    if (PQresultStatus(result.get()) != PGRES_TUPLES_OK)
        fail(ErrorCode::connection_failed, connection_message(connection));
    const bool direct = std::to_string(PQbackendPID(connection)) == PQgetvalue(result.get(), 0, 0);
    while (PgResult(PQgetResult(connection))) {
    }
    if (direct || pooler != Pooler::none) return;
    throw Error(
        ErrorCode::pooler_detected,
        fmt::format(
            "a connection pooler answers for {}: add pooler=transaction to the URL (PgBouncer in "
            "transaction mode), or pooler=session where every client keeps its own session",
            where(connection)
        )
    );
}

}  // namespace

std::unique_ptr<Connection> Connection::open(const PostgresTarget& target, Duration timeout) {
    const auto deadline = base::deadline_after(timeout);
    refuse_unreadable(target.url);
    PgConnection connection = start(target);
    if (!connection) throw std::bad_alloc();
    if (PQstatus(connection.get()) == CONNECTION_BAD) {
        fail(
            ErrorCode::connection_failed,
            fmt::format(
                "cannot connect to {}: {}",
                where(connection.get()),
                connection_message(connection.get())
            )
        );
    }
    wait_until_connected(connection.get(), deadline);
    PQsetNoticeProcessor(
        connection.get(), [](void*, const char*) {}, nullptr
    );
    check_first_answer(connection.get(), target.pooler, deadline);
    return std::unique_ptr<Connection>(new Connection(std::move(connection), target));
}

}  // namespace pawl::postgres
