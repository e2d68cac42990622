// The commands of retention, and prune.
#include <pawl/json.h>
#include <pawl/pawl.h>

#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

using nlohmann::json;

class RetentionCliTest : public CliFixture {
protected:
    void SetUp() override {
        ASSERT_EQ(pawl({"install"}).code, 0);
        ASSERT_EQ(pawl({"workflow", "create", "job"}).code, 0);
    }
    void finish_runs(int runs) const {
        ConnectOptions options;
        options.log = nullptr;
        const Store store = connect(url(), options);
        auto worker =
            pawl::worker("w").handle("job", [](Context&) {}).housekeeping(false).create(store);
        for (int i = 0; i < runs; ++i) workflow("job").trigger().execute(store);
        while (worker.poll_once() > 0) continue;
    }
    [[nodiscard]] int runs() const { return pawl_json({"run", "count"})["success"]; }
};

TEST_F(RetentionCliTest, policies_are_set_listed_and_taken_back) {
    const json set =
        pawl_json({"retention", "set", "success", "job", "--age", "30d", "--count", "5"});
    EXPECT_EQ(set["kind"], "success");
    EXPECT_EQ(set["name"], "job");
    EXPECT_EQ(set["keep_age_ms"], 2'592'000'000);
    EXPECT_EQ(set["keep_count"], 5);
    pawl_json({"retention", "set", "outbox", "--age", "3d"});
    const json all = pawl_json({"retention", "list"});
    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0]["kind"], "deleted");
    EXPECT_TRUE(all[0]["name"].is_null());
    EXPECT_TRUE(all[1]["keep_count"].is_null());
    EXPECT_EQ(all[2]["kind"], "workers");
    EXPECT_EQ(all[3], set);
    const Finished text = pawl({"retention", "list"});
    EXPECT_TRUE(contains(text.out, "for 30d, and at most the newest 5"));
    EXPECT_TRUE(contains(text.out, "(the store)"));
    pawl_json({"retention", "set", "success", "job", "--forever"});
    EXPECT_TRUE(contains(pawl({"retention", "list"}).out, "forever"));
    pawl_json({"retention", "clear", "success", "job"});
    EXPECT_EQ(pawl_json({"retention", "list"}).size(), 3U);
    EXPECT_EQ(pawl_json({"retention", "set", "failed", "*", "--age", "90d"})["name"], "*");
    EXPECT_TRUE(contains(pawl({"retention", "list"}).out, "(all)"));
}

TEST_F(RetentionCliTest, prune_shows_first_and_then_removes) {
    finish_runs(3);
    pawl_json({"retention", "set", "success", "job", "--count", "1"});
    const json shown = pawl_json({"prune", "--dry-run"});
    EXPECT_EQ(shown["dry_run"], true);
    EXPECT_EQ(shown["pruned"], 2);
    EXPECT_EQ(runs(), 3);
    EXPECT_TRUE(contains(pawl({"prune", "--dry-run"}).out, "WOULD BE PRUNED"));
    const json pruned = pawl_json({"prune", "--share", "100", "--batch", "1"});
    EXPECT_EQ(pruned["dry_run"], false);
    EXPECT_EQ(pruned["pruned"], 2);
    ASSERT_EQ(pruned["parts"].size(), 3U);
    EXPECT_EQ(pruned["parts"][2], (json{{"kind", "success"}, {"name", "job"}, {"pruned", 2}}));
    EXPECT_EQ(runs(), 1);
}

TEST_F(RetentionCliTest, wrong_use_is_explained) {
    const Cli cli(url());
    EXPECT_EQ(cli.failure({"retention", "set", "success", "--age", "1d"}), "invalid_argument");
    EXPECT_EQ(
        cli.failure({"retention", "set", "success", "no", "--age", "1d"}), "workflow_not_found"
    );
    EXPECT_EQ(cli.failure({"prune", "--share", "0"}), "invalid_argument");
    const auto usage = [&](std::vector<std::string> arguments, const std::string& why) {
        const Finished finished = pawl(std::move(arguments));
        EXPECT_EQ(finished.code, 2) << finished.out;
        EXPECT_TRUE(contains(finished.err, why));
    };
    usage({"retention", "set", "success", "job"}, "give --age, --count or both; or --forever");
    usage({"retention", "set", "success", "job", "--age", "1d", "--forever"}, "--forever");
    usage({"retention", "set", "runs", "job", "--age", "1d"}, "'runs' is not one of success");
    usage({"retention", "set", "success", "job", "--age", "soon"}, "soon");
}

}  // namespace
}  // namespace pawl::test
