// Connects to the first host that answers; each address of each host gets the whole timeout.
#include <algorithm>
#include <array>
#include <chrono>
#include <fmt/format.h>
#include <poll.h>
#include <vector>

#include "base/deadline.h"
#include "postgres/driver/connection.h"
#include "postgres/driver/hosts.h"

namespace pawl::postgres {

namespace {

using Clock = std::chrono::steady_clock;

// libpq expands the URL in `dbname`: keywords after it take precedence, keywords before it are
// defaults.
PgConnection start(const PostgresTarget& target, const Host& host) {
    std::vector<const char*> keywords{
        "application_name",
        "keepalives_idle",
        "keepalives_interval",
        "keepalives_count",
        "tcp_user_timeout",
        "dbname",
        "client_encoding"};
    std::vector<const char*> values{"pawl", "10", "5", "3", "20000", target.url.c_str(), "UTF8"};
    const auto add = [&](const char* keyword, const std::string& value) {
        if (value.empty()) return;
        keywords.push_back(keyword);
        values.push_back(value.c_str());
    };
    add("host", host.host);
    add("hostaddr", host.address);
    add("port", host.port);
    add("target_session_attrs", host.session_attrs);
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    PgConnection connection(PQconnectStartParams(keywords.data(), values.data(), 1));
    if (!connection) throw std::bad_alloc();
    PQsetErrorVerbosity(connection.get(), PQERRORS_VERBOSE);  // includes the SQLSTATE
    return connection;
}

std::string where(const PGconn* connection) {
    const auto text = [](const char* value) { return value == nullptr ? "?" : value; };
    const std::string_view host = text(PQhost(connection));
    const std::string_view address = text(PQhostaddr(connection));
    const bool is_known = !address.empty() && address != "?" && address != host;
    return fmt::format(
        "PostgreSQL at {}{}:{}, database '{}'",
        host,
        is_known ? fmt::format(" ({})", address) : "",
        text(PQport(connection)),
        text(PQdb(connection))
    );
}

// The deadline, and the descriptor that ends the wait earlier.
struct Wait {
    Clock::time_point deadline;
    int interrupt;
};

[[noreturn]] void fail(ErrorCode code, const std::string& message) {
    throw Error(code, message).mark_retryable();
}

// "FATAL: 28P01: password authentication failed ... LOCATION: auth_failed, auth.c:331"
struct ServerMessage {
    std::string sqlstate;  // empty if the message is from libpq
    std::string text;
};

// A severity such as FATAL has no digits.
bool is_sqlstate(std::string_view word) {
    const auto allowed = [](char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z'); };
    return word.size() == 5 && std::ranges::all_of(word, allowed) &&
           word.find_first_of("0123456789") != std::string_view::npos;
}

ServerMessage message_of(const PGconn* connection) {
    ServerMessage message{{}, connection_message(connection)};
    if (const auto location = message.text.find(" LOCATION:"); location != std::string::npos)
        message.text.erase(location);
    constexpr std::string_view separator = ": ";
    for (auto at = message.text.find(separator); at != std::string::npos;) {
        const auto begin = at + separator.size();
        at = message.text.find(separator, begin);
        if (at == std::string::npos || !is_sqlstate(message.text.substr(begin, at - begin)))
            continue;
        message.sqlstate = message.text.substr(begin, at - begin);
        message.text.erase(begin, at + separator.size() - begin);
        break;
    }
    return message;
}

// Wrong credentials, a wrong database and missing privileges do not fix themselves.
bool is_refusal(const PGconn* connection, std::string_view sqlstate) {
    return sqlstate.starts_with("28") || sqlstate == "3D000" || sqlstate == "42501" ||
           PQconnectionNeedsPassword(connection) == 1;
}

// What the user can do about it.
std::string advice(const PGconn* connection, std::string_view sqlstate) {
    const char* database = PQdb(connection);
    if (PQconnectionNeedsPassword(connection) == 1)
        return "; set PGPASSWORD, add the server to ~/.pgpass, or write user:password@ in the URL";
    if (sqlstate == "28P01")
        return "; check the user and the password: in the URL, in PGPASSWORD or in ~/.pgpass";
    if (sqlstate == "28000") return "; check the user in the URL, or create the role";
    if (sqlstate == "3D000" && database != nullptr)
        return fmt::format("; check the URL, or create the database: createdb '{}'", database);
    if (sqlstate.empty()) return "; start the server, or check host and port in the URL";
    return {};
}

[[noreturn]] void fail_to_connect(const PGconn* connection) {
    const ServerMessage message = message_of(connection);
    Error error(
        ErrorCode::connection_failed,
        fmt::format(
            "cannot connect to {}: {}{}",
            where(connection),
            message.text,
            advice(connection, message.sqlstate)
        )
    );
    if (!is_refusal(connection, message.sqlstate)) error.mark_retryable();
    throw error;
}

void wait_for(PGconn* connection, short events, const Wait& wait) {
    const auto left = std::chrono::ceil<Duration>(wait.deadline - Clock::now());
    std::array<pollfd, 2> waiting{
        pollfd{PQsocket(connection), events, 0}, pollfd{wait.interrupt, POLLIN, 0}};
    if (left > Duration::zero() &&
        poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) != 0) {
        if (waiting[1].revents == 0) return;
        fail(ErrorCode::connection_failed, "the store is closed");
    }
    fail(ErrorCode::timeout, fmt::format("no answer from {} in time", where(connection)));
}

void wait_until_connected(PGconn* connection, const Wait& wait) {
    PostgresPollingStatusType status = PGRES_POLLING_WRITING;
    while (status != PGRES_POLLING_OK) {
        if (status == PGRES_POLLING_FAILED) fail_to_connect(connection);
        wait_for(connection, status == PGRES_POLLING_READING ? POLLIN : POLLOUT, wait);
        status = PQconnectPoll(connection);
    }
    PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
}

// Reads the server's first answer within the connection timeout. A pooler reports an invented
// process id to its clients, so a different real one reveals it.
void check_first_answer(PGconn* connection, Pooler pooler, const Wait& wait) {
    if (PQsendQuery(connection, "select pg_backend_pid()::text") != 1)
        fail(ErrorCode::connection_failed, connection_message(connection));
    while (PQisBusy(connection) == 1) {
        wait_for(connection, POLLIN, wait);
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

PgConnection connect_to(const PostgresTarget& target, const Host& host, const Wait& wait) {
    PgConnection connection = start(target, host);
    if (PQstatus(connection.get()) == CONNECTION_BAD) fail_to_connect(connection.get());
    wait_until_connected(connection.get(), wait);
    PQsetNoticeProcessor(
        connection.get(), [](void*, const char*) {}, nullptr
    );
    check_first_answer(connection.get(), target.pooler, wait);
    return connection;
}

}  // namespace

// A host that refuses the login ends the search, as in libpq: the other hosts have the same users.
std::unique_ptr<Connection> Connection::open(
    const PostgresTarget& target, Duration timeout, int interrupt
) {
    refuse_unreadable(target);
    const auto hosts = hosts_of(target.url);
    std::string failed;
    for (std::size_t i = 0;; ++i) {
        try {
            auto connection =
                connect_to(target, hosts[i], Wait{base::deadline_after(timeout), interrupt});
            return std::unique_ptr<Connection>(
                new Connection(std::move(connection), target, interrupt)
            );
        } catch (const Error& error) {
            if (!error.retryable() || hosts.size() == 1) throw;
            failed += failed.empty() ? error.what() : fmt::format("; {}", error.what());
            if (i + 1 == hosts.size()) fail(error.code(), failed);
        }
    }
}

}  // namespace pawl::postgres
