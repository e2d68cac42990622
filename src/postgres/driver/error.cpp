#include "postgres/driver/error.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <utility>

#include "generated/postgres_migrations.h"
#include "model/check.h"

namespace pawl::postgres {

namespace {

std::string field(const PGresult* result, int code) {
    const char* value = PQresultErrorField(result, code);
    return value == nullptr ? std::string() : std::string(value);
}

// pawl's own class of SQLSTATEs, raised by the functions in sql/postgres: see docs/errors.md.
constexpr std::array<std::pair<std::string_view, ErrorCode>, 20> own_states{{
    {"PW001", ErrorCode::queue_not_found},
    {"PW002", ErrorCode::queue_not_empty},
    {"PW003", ErrorCode::invalid_argument},
    {"PW004", ErrorCode::message_not_found},
    {"PW005", ErrorCode::worker_not_found},
    {"PW006", ErrorCode::invalid_transition},
    {"PW007", ErrorCode::workflow_not_found},
    {"PW008", ErrorCode::workflow_has_runs},
    {"PW009", ErrorCode::workflow_queue},
    {"PW010", ErrorCode::run_not_found},
    {"PW011", ErrorCode::run_deleted},
    {"PW012", ErrorCode::run_finished},
    {"PW013", ErrorCode::run_not_failed},
    {"PW014", ErrorCode::step_not_found},
    {"PW015", ErrorCode::step_finished},
    {"PW016", ErrorCode::flow_not_found},
    {"PW017", ErrorCode::flow_mismatch},
    {"PW018", ErrorCode::schedule_not_found},
    {"PW019", ErrorCode::outbox_event_not_found},
    {"PW020", ErrorCode::step_not_waiting},
}};

// The access level that the function needs, read from sql/postgres/functions/access/access.sql,
// which has the only list.
std::string_view needed_access(std::string_view function) {
    constexpr std::string_view begin = "when p.proname in (";
    const auto file = std::ranges::find_if(sql::functions, [&](std::string_view text) {
        return text.find(begin) != std::string_view::npos;
    });
    if (file == sql::functions.end()) return "operator";
    std::string_view list = file->substr(file->find(begin));
    list = list.substr(0, list.find("else 'operator'"));
    constexpr std::string_view then = "then '";
    const auto at = list.find(fmt::format("'{}'", function));
    const auto level = at == std::string_view::npos ? at : list.find(then, at);
    if (level == std::string_view::npos) return "operator";
    list.remove_prefix(level + then.size());
    return list.substr(0, list.find('\''));
}

// "permission denied for function retry": the object is the last word.
Error no_access(const ServerError& error, std::string_view schema) {
    const std::string_view object =
        std::string_view(error.message).substr(error.message.rfind(' ') + 1);
    if (error.message.find("for database") != std::string::npos)  // install() creates the schema
        return {
            ErrorCode::database_error,
            fmt::format(
                "{}; ask the owner of the database to run grant create on database {} to the role "
                "of this connection",
                error.message,
                object
            )};
    const bool is_function = error.message.find("function") != std::string::npos;
    return {
        ErrorCode::database_error,
        fmt::format(
            "{}; ask the owner of schema '{}' to run select {}.grant_access('ROLE', '{}') for the "
            "role of this connection",
            error.message,
            schema,
            schema,
            is_function ? needed_access(object) : "producer, worker or operator"
        )};
}

}  // namespace

ServerError server_error(const PGresult* result, std::string_view statement) {
    std::string message = field(result, PG_DIAG_MESSAGE_PRIMARY);
    if (message.empty()) message = PQresultErrorMessage(result);
    if (const auto detail = field(result, PG_DIAG_MESSAGE_DETAIL); !detail.empty())
        message += " (" + detail + ")";
    return {field(result, PG_DIAG_SQLSTATE), std::move(message), std::string(statement)};
}

bool is_stale_plan(const ServerError& error) {
    return error.sqlstate == "0A000" && error.message.find("cached plan") != std::string::npos;
}

bool is_conflict(const ServerError& error) {
    return error.sqlstate == "40001" || error.sqlstate == "40P01";
}

bool is_cancelled(const ServerError& error) {
    return error.sqlstate == "57014";
}

bool is_read_only(const ServerError& error) {
    return error.sqlstate == "25006";
}

bool is_session_end(const ServerError& error) {
    return error.sqlstate == "57P01" || error.sqlstate == "57P02" || error.sqlstate == "57P03" ||
           error.sqlstate == "57P05" || error.sqlstate.starts_with("08");
}

Error to_error(const ServerError& error, std::string_view schema) {
    for (const auto& [state, code] : own_states) {
        if (error.sqlstate == state) return {code, error.message};
    }
    if (error.sqlstate == "3F000" || error.sqlstate == "42P01" || error.sqlstate == "42883") {
        return {
            ErrorCode::not_installed,
            fmt::format(
                "schema '{}' is missing or incomplete ({}); create it with store.install()",
                schema,
                error.message
            )};
    }
    // A statement that we prepared is unknown, or one that we did not prepare exists: the sessions
    // are shared.
    if (error.sqlstate == "26000" || error.sqlstate == "42P05") {
        return {
            ErrorCode::pooler_detected,
            "the server is behind a connection pooler in transaction mode; add pooler=transaction "
            "to "
            "the URL"};
    }
    if (error.sqlstate == "42501") return no_access(error, schema);
    if (error.sqlstate == "22021") return {ErrorCode::invalid_argument, model::not_text};
    if (error.sqlstate == "22P02" || error.sqlstate == "22P05")
        return {ErrorCode::invalid_payload, "the database refused the payload: " + error.message};
    Error mapped(
        ErrorCode::database_error,
        fmt::format(
            "PostgreSQL refused '{}': {} [{}]", error.statement, error.message, error.sqlstate
        )
    );
    if (is_conflict(error) || is_read_only(error) || error.sqlstate.starts_with("53") ||
        error.sqlstate == "55P03")
        mapped.mark_retryable();
    return mapped;
}

std::string connection_message(const PGconn* connection) {
    std::string message;
    for (const char c : std::string_view(PQerrorMessage(connection))) {
        if (std::string_view(" \t\r\n").find(c) == std::string_view::npos) {
            message += c;
        } else if (!message.empty() && message.back() != ' ') {
            message += ' ';
        }
    }
    if (message.ends_with(' ')) message.pop_back();
    return message;
}

}  // namespace pawl::postgres
