// Every statement of sql/sqlite can be prepared, and returns the columns that it declares.
#include <sqlite3.h>

#include "generated/sqlite_sql.h"
#include "support/store_test.h"

namespace pawl::test {
namespace {

class SqliteStatementsTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(
    , SqliteStatementsTest, ::testing::Values(BackendKind::sqlite), backend_name
);

std::vector<std::string> columns_of(sqlite3_stmt* statement) {
    std::vector<std::string> names;
    for (int i = 0; i < sqlite3_column_count(statement); ++i)
        names.emplace_back(sqlite3_column_name(statement, i));
    return names;
}

TEST_P(SqliteStatementsTest, return_the_columns_that_they_declare) {
    const auto connection = database();
    sqlite3* native = connection->transaction().sqlite();
    std::size_t declared = 0;
    for (const store::Statement* statement : sqlite::sql::every_statement) {
        sqlite3_stmt* prepared = nullptr;
        const int code = sqlite3_prepare_v2(
            native,
            statement->text.data(),
            static_cast<int>(statement->text.size()),
            &prepared,
            nullptr
        );
        EXPECT_EQ(code, SQLITE_OK) << statement->name << ": " << sqlite3_errmsg(native);
        if (!statement->columns.empty()) {
            ++declared;
            const std::vector<std::string> wanted(
                statement->columns.begin(), statement->columns.end()
            );
            EXPECT_EQ(columns_of(prepared), wanted) << statement->name;
        }
        sqlite3_finalize(prepared);
    }
    EXPECT_GE(declared, 15U);
}

}  // namespace
}  // namespace pawl::test
