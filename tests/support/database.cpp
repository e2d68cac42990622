#include "support/database.h"

#include <algorithm>
#include <stdexcept>

#ifdef PAWL_WITH_POSTGRES
#include <libpq-fe.h>
#endif
#ifdef PAWL_WITH_SQLITE
#include <sqlite3.h>
#endif

namespace pawl::test {

std::string Database::value(const std::string& sql) {
    const auto found = rows(sql);
    if (found.size() != 1 || found.front().empty())
        throw std::runtime_error("expected one row from: " + sql);
    return found.front().front();
}

#ifdef PAWL_WITH_POSTGRES
namespace {

class PostgresDatabase : public Database {
public:
    explicit PostgresDatabase(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
        if (PQstatus(connection_) != CONNECTION_OK) {
            const std::string why = PQerrorMessage(connection_);
            PQfinish(connection_);
            throw std::runtime_error(why);
        }
        PQsetNoticeProcessor(
            connection_, [](void*, const char*) {}, nullptr
        );
    }
    ~PostgresDatabase() override { PQfinish(connection_); }

    std::vector<Row> rows(const std::string& sql) override {
        PGresult* result = PQexec(connection_, sql.c_str());
        const auto status = PQresultStatus(result);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
            const std::string why = PQresultErrorMessage(result);
            PQclear(result);
            throw std::runtime_error(why);
        }
        std::vector<Row> found(static_cast<std::size_t>(PQntuples(result)));
        for (int i = 0; i < PQntuples(result); ++i) {
            for (int k = 0; k < PQnfields(result); ++k)
                found[static_cast<std::size_t>(i)].emplace_back(PQgetvalue(result, i, k));
        }
        PQclear(result);
        return found;
    }
    Transaction transaction() override { return connection_; }
    void begin() override { run("begin"); }

private:
    PGconn* connection_;
};

}  // namespace

std::unique_ptr<Database> open_postgres_database(const std::string& url) {
    return std::make_unique<PostgresDatabase>(url);
}
#endif

#ifdef PAWL_WITH_SQLITE
namespace {

class SqliteDatabase : public Database {
public:
    explicit SqliteDatabase(const std::string& path) {
        if (sqlite3_open(path.c_str(), &connection_) != SQLITE_OK) {
            const std::string why = sqlite3_errmsg(connection_);
            sqlite3_close(connection_);
            throw std::runtime_error(why);
        }
        sqlite3_busy_timeout(connection_, 10'000);
    }
    ~SqliteDatabase() override { sqlite3_close(connection_); }

    std::vector<Row> rows(const std::string& sql) override {
        std::vector<Row> found;
        char* error = nullptr;
        const auto add = [](void* into, int columns, char** values, char**) {
            Row row;
            for (int i = 0; i < columns; ++i) row.emplace_back(values[i] ? values[i] : "");
            static_cast<std::vector<Row>*>(into)->push_back(std::move(row));
            return 0;
        };
        if (sqlite3_exec(connection_, sql.c_str(), add, &found, &error) != SQLITE_OK) {
            const std::string why = error ? error : sqlite3_errmsg(connection_);
            sqlite3_free(error);
            throw std::runtime_error(why);
        }
        return found;
    }
    Transaction transaction() override { return connection_; }
    void begin() override { run("begin immediate"); }

private:
    sqlite3* connection_ = nullptr;
};

}  // namespace

std::unique_ptr<Database> open_sqlite_database(const std::string& path) {
    return std::make_unique<SqliteDatabase>(path);
}
#endif

}  // namespace pawl::test
