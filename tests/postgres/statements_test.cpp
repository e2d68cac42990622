// Every statement of sql/postgres can be prepared and returns the columns that it declares; one
// that returns several columns declares them.
#include <libpq-fe.h>

#include "generated/postgres_sql.h"
#include "postgres/driver/connection.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class PostgresStatementsTest : public StoreTest {
protected:
    // A script of several statements cannot be prepared. Statements about the optional schema
    // pgflow need it installed: see pgflow_test.cpp.
    static bool can_be_prepared(const store::Statement& statement) {
        return statement.text.find(';') == std::string_view::npos &&
               statement.text.find("pgflow.") == std::string_view::npos;
    }
    // Empty if the server refuses the statement.
    static std::vector<std::string> columns_of(
        PGconn* connection, const std::string& text, std::string_view name
    ) {
        const std::unique_ptr<PGresult, void (*)(PGresult*)> prepared(
            PQprepare(connection, "", text.c_str(), 0, nullptr), PQclear
        );
        EXPECT_EQ(PQresultStatus(prepared.get()), PGRES_COMMAND_OK)
            << name << ": " << PQerrorMessage(connection);
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
        if (!can_be_prepared(*statement)) continue;
        const std::string text = postgres::expand(statement->text, place().schema());
        const auto found = columns_of(connection->transaction().postgres(), text, statement->name);
        // A reader must not count columns: see sql/rows.txt.
        EXPECT_FALSE(found.size() > 1 && statement->columns.empty())
            << statement->name << " declares no row";
        if (statement->columns.empty()) continue;
        ++declared;
        const std::vector<std::string> wanted(statement->columns.begin(), statement->columns.end());
        EXPECT_EQ(found, wanted) << statement->name;
    }
    EXPECT_GE(declared, 15U);
}

}  // namespace
}  // namespace pawl::test
