// Every statement of sql/sqlite can be prepared and returns the columns that it declares; one that
// returns several columns declares them.
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
        if (statement->name.starts_with("script_")) continue;  // for sqlite3, with places to fill
        sqlite3_stmt* prepared = nullptr;
        const int code = sqlite3_prepare_v2(
            native,
            statement->text.data(),
            static_cast<int>(statement->text.size()),
            &prepared,
            nullptr
        );
        EXPECT_EQ(code, SQLITE_OK) << statement->name << ": " << sqlite3_errmsg(native);
        const std::vector<std::string> found = columns_of(prepared);
        if (!statement->columns.empty()) {
            ++declared;
            const std::vector<std::string> wanted(
                statement->columns.begin(), statement->columns.end()
            );
            EXPECT_EQ(found, wanted) << statement->name;
        }
        // A reader must not count columns: see sql/rows.txt.
        EXPECT_FALSE(found.size() > 1 && statement->columns.empty())
            << statement->name << " declares no row";
        sqlite3_finalize(prepared);
    }
    EXPECT_GE(declared, 15U);
}

}  // namespace
}  // namespace pawl::test
