// pawl install --dry-run and --sql.
#include <fstream>

#include "cli/store_cli_fixture.h"

namespace pawl::test {
namespace {

class InstallCliTest : public StoreCliTest {
protected:
    // Gives the script to the database's own shell, as an administrator does. As a file: the shell
    // may end before it has read everything.
    [[nodiscard]] Finished feed(const std::string& script) const { return feed(script, place()); }
    [[nodiscard]] Finished feed(const std::string& script, const Place& to) const {
        const auto file = place().directory().file("install.sql");
        std::ofstream(file) << script;
        if (GetParam() == BackendKind::postgres)
            return test::run({"psql", "-X", "-q", "-f", file, to.server_url()});
        const auto database = to.url().substr(std::string("sqlite:").size());
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
    EXPECT_TRUE(contains(damaged.out, "messages_ready is missing: would be created"))
        << damaged.out;
    EXPECT_EQ(pawl({"verify"}).code, 1) << "nothing was restored";
}

TEST_P(InstallCliTest, a_dry_run_tells_what_stays_from_what_changes) {
    ASSERT_EQ(pawl({"install"}).code, 0);
    const std::string runs = place().table("runs");
    place().database()->run("alter table " + runs + " add column mine integer");
    const Finished added = pawl({"install", "--dry-run"});
    EXPECT_EQ(added.code, 0) << "install would do nothing";
    EXPECT_TRUE(contains(added.out, "is not part of pawl's schema: would stay as it is"))
        << added.out;
    const auto report = cli().json({"install", "--dry-run"});
    ASSERT_EQ(report["findings"].size(), 1U);
    EXPECT_EQ(report["findings"][0]["kind"], "column");
    EXPECT_EQ(report["findings"][0]["action"], "keep");
    EXPECT_EQ(report["findings"][0]["text"], report["changes"][0]);
    place().database()->run("drop table " + place().table("signals"));
    const Finished lost = pawl({"install", "--dry-run"});
    EXPECT_EQ(lost.code, 1);
    EXPECT_TRUE(contains(lost.out, "signals is missing: cannot be restored by install"))
        << lost.out;
    const Finished verified = pawl({"verify"});
    EXPECT_FALSE(contains(verified.err, "run: pawl install")) << "it would not help";
}

// SQLite has none of these.
class InstallPostgresCliTest : public InstallCliTest {};

TEST_P(InstallPostgresCliTest, a_dry_run_names_functions_settings_and_grants) {
    ASSERT_EQ(pawl({"install"}).code, 0);
    const std::string schema = place().schema();
    const auto base = place().database();
    base->run("drop function " + schema + ".purge_queue(text)");
    base->run(
        "create or replace view " + schema +
        ".run_ends as select *, 1 as one from (select "
        "r.run_id, r.status, r.deleted_at, r.output from " +
        schema + ".runs r) r"
    );
    base->run("alter table " + schema + ".messages set (fillfactor = 90)");
    base->run("grant create on schema " + schema + " to public");
    base->run("drop table " + schema + ".schema_manifest");
    const std::string plan = pawl({"install", "--dry-run"}).out;
    for (const std::string line :
         {"function purge_queue(queue_name text) is missing: would be created",
          "view run_ends is different: would be replaced",
          "setting messages.fillfactor is 90, expected 70: would be replaced",
          "from PUBLIC: cannot be restored by install",
          "table schema_manifest is missing: would be created"})
        EXPECT_TRUE(contains(plan, line)) << line << "\n" << plan;
}

// Every older version, with rows of that version.
TEST_P(InstallCliTest, the_script_upgrades_an_older_store) {
    for (int version = 1; version < cli().json({"install", "--sql"})["schema_version"]; ++version) {
        const Place old(GetParam());
        const Cli old_cli(old.url());
        make_kit(old)->install_version(version);
        const auto base = old.database();
        const std::string time = GetParam() == BackendKind::postgres ? "now()" : "1";
        base->run(
            "insert into " + old.table("queues") + " (name, created_at) values ('mail', " + time +
            ")"
        );
        base->run(
            "insert into " + old.table("messages") +
            " (queue_id, priority, payload, enqueued_at, visible_at, state) select queue_id, 0, "
            "'{\"n\":1}', " +
            time + ", " + time + ", 'ready' from " + old.table("queues")
        );
        const Finished plan = old_cli.run({"install", "--dry-run"});
        EXPECT_TRUE(contains(
            plan.out, "the schema would be migrated from version " + std::to_string(version)
        )) << plan.out;
        const Finished script =
            old_cli.run({"install", "--sql", "--from", std::to_string(version)});
        ASSERT_EQ(script.code, 0) << script.err;
        const Finished fed = feed(script.out, old);
        ASSERT_EQ(fed.code, 0) << fed.err;
        const Finished verified = old_cli.run({"verify"});
        EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
        EXPECT_EQ(old_cli.json({"install"})["repaired"].size(), 0U);
        const auto kept = old_cli.json({"dequeue", "mail"});
        ASSERT_EQ(kept.size(), 1U) << "from version " << version;
        EXPECT_EQ(kept[0]["payload"]["n"], 1);
    }
}

PAWL_FOR_EACH_BACKEND(InstallCliTest);
INSTANTIATE_TEST_SUITE_P(
    , InstallPostgresCliTest, ::testing::Values(BackendKind::postgres), backend_name
);

}  // namespace
}  // namespace pawl::test
