// A plain libpq connection, for the bare programs.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include <libpq-fe.h>

namespace bench {

struct FreeResult {
    void operator()(PGresult* result) const { PQclear(result); }
};
using PostgresResult = std::unique_ptr<PGresult, FreeResult>;

struct BarePostgres {
    explicit BarePostgres(const std::string& url) : connection(PQconnectdb(url.c_str())) {
        if (PQstatus(connection) != CONNECTION_OK)
            throw std::runtime_error(PQerrorMessage(connection));
    }
    ~BarePostgres() { PQfinish(connection); }
    BarePostgres(const BarePostgres&) = delete;
    BarePostgres& operator=(const BarePostgres&) = delete;

    PostgresResult check(PGresult* taken) const {
        PostgresResult result(taken);
        const auto status = PQresultStatus(taken);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
            throw std::runtime_error(PQerrorMessage(connection));
        return result;
    }
    void run(const std::string& sql) const { check(PQexec(connection, sql.c_str())); }

    PGconn* connection;
};

}  // namespace bench
