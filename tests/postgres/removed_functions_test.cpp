// An upgrade leaves no helper functions of earlier versions behind (access/removed_functions.sql).
#include <fmt/format.h>

#include "support/store_test.h"

namespace pawl::test {
namespace {

class RemovedFunctionsTest : public StoreTest {
protected:
    void make_function(const std::string& signature, const std::string& comment) {
        const std::string name = place().table(signature);
        database()->run("create function " + name + " returns integer language sql as 'select 1'");
        database()->run("comment on function " + name + " is '" + comment + "'");
    }
    void install_again() {
        database()->run("update " + place().table("schema_version") + " set functions = ''");
        store().install();
    }
    bool exists(const std::string& signature) {
        return database()->value(fmt::format(
                   "select coalesce(to_regprocedure('{}')::text, '')", place().table(signature)
               )) != "";
    }
};
INSTANTIATE_TEST_SUITE_P(
    , RemovedFunctionsTest, ::testing::Values(BackendKind::postgres), backend_name
);

TEST_P(RemovedFunctionsTest, helpers_of_earlier_versions_are_dropped) {
    make_function("trigger_mixed(text[], boolean)", "Internal: runs of any workflows.");
    make_function("complete_held_tasks(tid[], bigint[])", "Internal: records success.");
    install_again();
    EXPECT_FALSE(exists("trigger_mixed(text[], boolean)"));
    EXPECT_FALSE(exists("complete_held_tasks(tid[], bigint[])"));
    EXPECT_TRUE(store().verify().ok());
}

// Version 4 had it with other parameters: `comment on function` then names two functions.
TEST_P(RemovedFunctionsTest, a_helper_whose_parameters_have_changed_does_not_stop_an_upgrade) {
    make_function("free_lines(bigint[], timestamptz)", "Internal: lets the next events go.");
    install_again();
    EXPECT_FALSE(exists("free_lines(bigint[], timestamptz)"));
    EXPECT_TRUE(store().verify().ok());
}

TEST_P(RemovedFunctionsTest, a_users_function_of_such_a_name_stays) {
    make_function("trigger_mixed(text)", "mine");
    install_again();
    EXPECT_TRUE(exists("trigger_mixed(text)"));
}

TEST_P(RemovedFunctionsTest, a_helper_that_a_users_view_needs_stays) {
    make_function("by_whom(text)", "Internal: an event''s data.");
    database()->run(
        "create view " + place().table("mine") + " as select " + place().table("by_whom") + "('x')"
    );
    install_again();
    EXPECT_TRUE(exists("by_whom(text)"));
}

}  // namespace
}  // namespace pawl::test
