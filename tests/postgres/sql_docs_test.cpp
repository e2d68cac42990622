// docs/sql.md, docs/errors.md, the C++ library and the functions are consistent.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "support/store_test.h"

namespace pawl::test {
namespace {

std::string source(const std::filesystem::path& path) {
    std::ifstream in(std::filesystem::path(PAWL_SOURCE_DIR) / path);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
}

std::set<std::string> found(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    std::set<std::string> all;
    for (std::sregex_iterator i(text.begin(), text.end(), regex), end; i != end; ++i)
        all.insert(i->str(1));
    return all;
}

std::string functions_source() {
    std::string text;
    const auto folder = std::filesystem::path(PAWL_SOURCE_DIR) / "sql/postgres/functions";
    for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
        if (file.path().extension() == ".sql") text += source(file.path());
    return text;
}

TEST(SqlDocsTest, the_documented_states_are_those_that_are_mapped) {
    const auto mapped = found(source("src/postgres/driver/error.cpp"), "\"(PW...)\"");
    EXPECT_GE(mapped.size(), 15U);
    EXPECT_EQ(found(source("docs/sql.md"), "`(PW...)`"), mapped);
    EXPECT_EQ(found(source("docs/errors.md"), "`(PW...)`"), mapped);
}

std::ptrdiff_t count(const std::string& text, const std::string& pattern) {
    const std::regex regex(pattern);
    return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
}

// An undocumented SQLSTATE may only roll back a subtransaction: each block that raises it also
// catches it.
TEST(SqlDocsTest, only_documented_states_are_raised) {
    const auto mapped = found(source("src/postgres/driver/error.cpp"), "\"(PW...)\"");
    const std::string text = functions_source();
    const auto raised = found(text, "errcode = '([^']*)'");
    EXPECT_FALSE(raised.empty());
    for (const std::string& state : raised)
        EXPECT_TRUE(
            mapped.contains(state) ||
            count(text, "errcode = '" + state + "'") == count(text, "when sqlstate '" + state + "'")
        ) << state;
}

TEST(SqlDocsTest, documented_states_are_raised) {
    const auto raised = found(functions_source(), "errcode = '([^']*)'");
    for (const std::string& state : found(source("docs/sql.md"), "`(PW...)`"))
        EXPECT_TRUE(raised.contains(state)) << state;
}

class SqlDocsTableTest : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(
    , SqlDocsTableTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(SqlDocsTableTest, every_function_for_users_is_documented_under_its_access) {
    const std::string text = source("docs/sql.md");
    for (const Row& row : database()->rows(
             "select distinct p.proname, f.access from " + place().schema() +
             ".function_access() f join pg_proc p on p.oid = f.signature where f.access <> 'owner' "
             "or p.proname in ('grant_access', 'function_access')"
         )) {
        const std::regex line("\n\\| `" + row[0] + "\\([^\n]*\\| " + row[1] + " \\|\n");
        EXPECT_TRUE(std::regex_search(text, line))
            << "docs/sql.md has no row | `" << row[0] << "(...)` | ... | " << row[1] << " |";
    }
}

TEST_P(SqlDocsTableTest, documented_functions_exist_with_their_parameters) {
    const auto sql = database();
    const std::string text = source("docs/sql.md");
    const std::regex row("\n\\| `([a-z_]+)\\(([^)]*)\\)`");
    for (std::sregex_iterator i(text.begin(), text.end(), row), end; i != end; ++i) {
        const std::string parameters = sql->value(
            "select coalesce(string_agg(coalesce(array_to_string(p.proargnames, ' '), ''), ' '), "
            "'-') from "
            "pg_proc p where "
            "p.pronamespace = '" +
            place().schema() + "'::regnamespace and p.proname = '" + i->str(1) + "'"
        );
        EXPECT_NE(parameters, "-") << i->str(1) << " does not exist";
        for (const std::string& name : found(i->str(2), "([a-z_]+)"))
            EXPECT_TRUE(contains(" " + parameters + " ", " " + name + " "))
                << i->str(1) << " has no parameter " << name;
    }
}

TEST_P(SqlDocsTableTest, the_six_functions_of_a_worker_work_as_shown) {
    store().create_workflow("order");
    const auto sql = database();
    const std::string id =
        sql->value("select " + place().schema() + ".trigger('order', '{\"count\":2}')");
    const std::string text = source("docs/sql.md");
    const auto begin = text.find("```sql\n") + 7;
    std::string block = text.substr(begin, text.find("```", begin) - begin);
    block = std::regex_replace(block, std::regex("pawl\\."), place().schema() + ".");
    block = std::regex_replace(block, std::regex("\\b42\\b"), id);
    block = std::regex_replace(block, std::regex("worker_id => 7"), "worker_id => 1");
    block = std::regex_replace(block, std::regex("heartbeat\\(7\\)"), "heartbeat(1)");
    EXPECT_EQ(sql->value(block), "done") << block;
    EXPECT_EQ(store().run(RunId(std::stoll(id))).wait_json(0s).text, R"({"total":24})");
    EXPECT_EQ(store().run(RunId(std::stoll(id))).steps().size(), 1U);
}

}  // namespace
}  // namespace pawl::test
