// Converts errors of PostgreSQL and libpq to pawl::Error. The only place that knows SQLSTATEs.
#pragma once

#include <pawl/error.h>
#include <string>
#include <string_view>

#include "postgres/driver/handles.h"

namespace pawl::postgres {

// A statement that the server refused; the transaction is rolled back.
struct ServerError {
    std::string sqlstate;
    std::string message;
    std::string statement;  // its name in sql/
};

[[nodiscard]] ServerError server_error(const PGresult* result, std::string_view statement);

// 'cached plan must not change result type': prepare the statement again without an error.
[[nodiscard]] bool is_stale_plan(const ServerError& error);
// Serialization failures and deadlocks: the same batch may succeed if it is repeated immediately.
[[nodiscard]] bool is_conflict(const ServerError& error);
// By a statement_timeout, or by a user.
[[nodiscard]] bool is_cancelled(const ServerError& error);
[[nodiscard]] bool is_read_only(const ServerError& error);
// The server ends this session (shutdown, crash of another backend, administrator).
[[nodiscard]] bool is_session_end(const ServerError& error);

[[nodiscard]] Error to_error(const ServerError& error, std::string_view schema);
// libpq's message about a connection, without line breaks.
[[nodiscard]] std::string connection_message(const PGconn* connection);

}  // namespace pawl::postgres
