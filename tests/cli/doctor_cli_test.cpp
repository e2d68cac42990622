// pawl doctor, and what verify reports about lost work.
#include "cli/cli_fixture.h"
#include "support/database.h"

namespace pawl::test {
namespace {

class DoctorCliTest : public CliFixture {
protected:
    void SetUp() override {
        ASSERT_EQ(pawl({"install"}).code, 0);
        ASSERT_EQ(pawl({"workflow", "create", "job"}).code, 0);
        ASSERT_EQ(pawl({"trigger", "job", "1"}).code, 0);
    }
    void lose_message() const {
        open_sqlite_database(directory_.file("cli.db"))->run("delete from pawl_messages");
    }
};

TEST_F(DoctorCliTest, a_healthy_store_is_ok) {
    const Finished found = pawl({"doctor"});
    EXPECT_EQ(found.code, 0) << found.out << found.err;
    const auto answer = pawl_json({"doctor"});
    EXPECT_EQ(answer["ok"], true);
    EXPECT_GT(answer["schema_version"], 0);
    EXPECT_TRUE(answer["problems"].empty());
}

TEST_F(DoctorCliTest, a_lost_run_is_found_and_repaired) {
    lose_message();
    for (const char* command : {"doctor", "verify"}) {
        const Finished found = pawl({command});
        EXPECT_EQ(found.code, 1) << command;
        EXPECT_TRUE(contains(found.out, "run 1 of workflow 'job' has no message")) << command;
        EXPECT_TRUE(contains(found.err, "pawl doctor --repair")) << command;
    }
    EXPECT_EQ(Cli(url()).failure({"run", "wake", "1"}), "message_not_found");
    const auto repaired = pawl_json({"doctor", "--repair"});
    EXPECT_EQ(repaired["ok"], true);
    ASSERT_EQ(repaired["repaired"].size(), 1U);
    EXPECT_EQ(repaired["repaired"][0]["run_id"], 1);
    EXPECT_EQ(repaired["repaired"][0]["workflow"], "job");
    EXPECT_EQ(pawl({"doctor"}).code, 0);
    EXPECT_EQ(pawl_json({"message", "get", "job", "1"})["state"], "ready");
}

TEST_F(DoctorCliTest, ready_work_without_a_worker_is_a_notice) {
    const Finished found = pawl({"doctor"});
    EXPECT_EQ(found.code, 0);
    EXPECT_TRUE(contains(found.out, "workflow job: 1 run is ready, no live worker handles it"));
    EXPECT_FALSE(contains(found.out, "no problems found")) << found.out;
    ASSERT_EQ(pawl({"trigger", "job", "2"}).code, 0);
    EXPECT_TRUE(contains(pawl({"doctor"}).out, "workflow job: 2 runs are ready")) << found.out;
    for (const char* id : {"1", "2"}) (void)pawl({"run", "cancel", id, "--reason", "no"});
    EXPECT_TRUE(contains(pawl({"doctor"}).out, "no problems found"));
}

TEST_F(DoctorCliTest, a_paused_queue_is_a_notice) {
    ASSERT_EQ(pawl({"queue", "create", "mail"}).code, 0);
    ASSERT_EQ(pawl({"queue", "pause", "mail"}).code, 0);
    const auto answer = pawl_json({"doctor"});
    EXPECT_EQ(answer["ok"], true);
    EXPECT_EQ(answer["notices"][0]["check"], "queues");
}

TEST_F(DoctorCliTest, a_damaged_schema_is_a_problem) {
    open_sqlite_database(directory_.file("cli.db"))->run("drop index pawl_runs_group");
    const Finished found = pawl({"doctor"});
    EXPECT_EQ(found.code, 1);
    EXPECT_TRUE(contains(found.out, "pawl_runs_group is missing"));
    EXPECT_TRUE(contains(found.err, "pawl install"));
}

}  // namespace
}  // namespace pawl::test
