// pawl install --dry-run and --sql.
#include <fstream>

#include "cli/store_cli_fixture.h"

namespace pawl::test {
namespace {

class InstallCliTest : public StoreCliTest {
protected:
    // Gives the script to the database's own shell, as an administrator does. As a file: the shell
    // may end before it has read everything.
    [[nodiscard]] Finished feed(const std::string& script) const {
        const auto file = place().directory().file("install.sql");
        std::ofstream(file) << script;
        if (GetParam() == BackendKind::postgres)
            return test::run({"psql", "-X", "-q", "-f", file, place().server_url()});
        const auto database = url().substr(std::string("sqlite:").size());
        return test::run({"sh", "-c", "sqlite3 \"$0\" < \"$1\"", database, file});
    }
};

TEST_P(InstallCliTest, the_script_installs_the_schema) {
    const Finished script = pawl({"install", "--sql"});
    ASSERT_EQ(script.code, 0) << script.err;
    EXPECT_EQ(cli().failure({"stats"}), "not_installed") << "printing changes nothing";
    const Finished fed = feed(script.out);
    ASSERT_EQ(fed.code, 0) << fed.err;
    EXPECT_EQ(fed.err, "");
    const Finished verified = pawl({"verify"});
    EXPECT_EQ(verified.code, 0) << verified.out;
    EXPECT_EQ(pawl({"install", "--dry-run"}).code, 0);
    ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
    ASSERT_EQ(pawl({"enqueue", "mail", "1"}).code, 0);
    EXPECT_EQ(cli().json({"dequeue", "mail"}).size(), 1U);
    EXPECT_EQ(cli().json({"install"})["repaired"].size(), 0U);
}

TEST_P(InstallCliTest, a_script_for_another_version_changes_nothing) {
    const std::string script = pawl({"install", "--sql"}).out;
    const Finished upgrade = feed(pawl({"install", "--sql", "--from", "2"}).out);
    EXPECT_NE(upgrade.code, 0) << "nothing is installed";
    EXPECT_EQ(cli().failure({"stats"}), "not_installed");
    ASSERT_EQ(feed(script).code, 0);
    ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
    const Finished again = feed(script);
    EXPECT_NE(again.code, 0);
    EXPECT_TRUE(contains(again.err, "this script is for")) << again.err;
    EXPECT_EQ(cli().json({"queue", "list"}).size(), 1U);
    EXPECT_EQ(pawl({"install", "--sql", "--from", "99"}).code, 1);
    EXPECT_EQ(pawl({"install", "--from", "1"}).code, 2);
}

TEST_P(InstallCliTest, a_dry_run_says_what_would_change) {
    const Finished fresh = pawl({"install", "--dry-run"});
    EXPECT_EQ(fresh.code, 1) << fresh.err;
    EXPECT_TRUE(contains(fresh.out, "the schema would be created, version")) << fresh.out;
    EXPECT_EQ(cli().failure({"stats"}), "not_installed");
    ASSERT_EQ(pawl({"install"}).code, 0);
    const auto done = cli().json({"install", "--dry-run"});
    EXPECT_EQ(done["changes"].size(), 0U);
    EXPECT_EQ(done["schema_version"], done["newest_version"]);
    const std::string index = GetParam() == BackendKind::postgres
                                  ? place().schema() + ".messages_ready"
                                  : "pawl_messages_ready";
    place().database()->run("drop index " + index);
    const Finished damaged = pawl({"install", "--dry-run"});
    EXPECT_EQ(damaged.code, 1);
    EXPECT_TRUE(contains(damaged.out, "messages_ready is missing: would be restored"))
        << damaged.out;
    EXPECT_EQ(pawl({"verify"}).code, 1) << "nothing was restored";
}

PAWL_FOR_EACH_BACKEND(InstallCliTest);

}  // namespace
}  // namespace pawl::test
