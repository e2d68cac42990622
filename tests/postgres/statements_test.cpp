// Statements of sql/postgres return the columns that they declare.
#include <libpq-fe.h>

#include "generated/postgres_sql.h"
#include "postgres/driver/connection.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class PostgresStatementsTest : public StoreTest {
protected:
    // Empty if the server refuses the statement.
    static std::vector<std::string> columns_of(PGconn* connection, const std::string& text) {
        const std::unique_ptr<PGresult, void (*)(PGresult*)> prepared(
            PQprepare(connection, "", text.c_str(), 0, nullptr), PQclear
        );
        EXPECT_EQ(PQresultStatus(prepared.get()), PGRES_COMMAND_OK) << PQerrorMessage(connection);
        const std::unique_ptr<PGresult, void (*)(PGresult*)> described(
            PQdescribePrepared(connection, ""), PQclear
        );
        std::vector<std::string> names;
        for (int i = 0; i < PQnfields(described.get()); ++i)
            names.emplace_back(PQfname(described.get(), i));
        return names;
    }
};
INSTANTIATE_TEST_SUITE_P(
    , PostgresStatementsTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(PostgresStatementsTest, return_the_columns_that_they_declare) {
    const auto connection = database();
    std::size_t declared = 0;
    for (const store::Statement* statement : postgres::sql::every_statement) {
        if (statement->columns.empty()) continue;
        ++declared;
        const std::vector<std::string> wanted(statement->columns.begin(), statement->columns.end());
        const std::string text = postgres::expand(statement->text, place().schema());
        EXPECT_EQ(columns_of(connection->transaction().postgres(), text), wanted)
            << statement->name;
    }
    EXPECT_GE(declared, 15U);
}

}  // namespace
}  // namespace pawl::test
