// pawl schedule.
#include "cli/cli_fixture.h"

namespace pawl::test {
namespace {

using nlohmann::json;

class ScheduleCliTest : public CliFixture {
protected:
    void SetUp() override {
        ASSERT_EQ(pawl({"install"}).code, 0);
        ASSERT_EQ(pawl({"workflow", "create", "report"}).code, 0);
    }
    json create(const std::string& name, const std::string& cron = "@daily") const {
        return pawl_json({"schedule", "create", name, "report", cron});
    }
    std::string failure(std::vector<std::string> arguments) const {
        arguments.emplace_back("--json");
        const Finished finished = pawl(arguments);
        EXPECT_EQ(finished.code, 1) << finished.out << finished.err;
        EXPECT_EQ(finished.out, "");
        return json::parse(finished.err)["error"];
    }
};

TEST_F(ScheduleCliTest, a_schedule_is_created_with_all_its_options_and_changed) {
    const json made = pawl_json(
        {"schedule",
         "create",
         "nightly",
         "report",
         "30 2 * * mon-fri",
         R"({"n":1})",
         "--time-zone",
         "Europe/London",
         "--start",
         "2098-01-01T00:00:00Z",
         "--end",
         "2099-01-01T00:00:00Z",
         "--jitter",
         "90s",
         "--priority",
         "5",
         "--overlap",
         "queue-one",
         "--catch-up",
         "all",
         "--catch-up-limit",
         "7"}
    );
    EXPECT_EQ(made["name"], "nightly");
    EXPECT_EQ(made["workflow"], "report");
    EXPECT_EQ(made["cron"], "30 2 * * mon-fri");
    EXPECT_EQ(made["time_zone"], "Europe/London");
    EXPECT_EQ(made["params"]["n"], 1);
    EXPECT_EQ(made["start"], "2098-01-01T00:00:00.000000Z");
    EXPECT_EQ(made["end"], "2099-01-01T00:00:00.000000Z");
    EXPECT_EQ(made["jitter_ms"], 90000);
    EXPECT_EQ(made["priority"], 5);
    EXPECT_EQ(made["overlap"], "queue-one");
    EXPECT_EQ(made["catch_up"], "all");
    EXPECT_EQ(made["catch_up_limit"], 7);
    EXPECT_EQ(made["paused"], false);
    EXPECT_EQ(made["next_fire_at"], "2098-01-01T02:30:00.000000Z");
    EXPECT_TRUE(made["last_fire_at"].is_null());
    EXPECT_TRUE(made["last_run_id"].is_null());
    EXPECT_TRUE(made["waiting_fire_at"].is_null());
    const json changed = create("nightly", "@daily");
    EXPECT_EQ(changed["cron"], "@daily");
    EXPECT_EQ(changed["priority"], 5);
    EXPECT_EQ(pawl_json({"schedule", "list"}).size(), 1U);
    EXPECT_EQ(pawl_json({"schedule", "show", "nightly"}), changed);
}

TEST_F(ScheduleCliTest, people_get_sentences_and_tables) {
    const auto made = pawl({"schedule", "create", "nightly", "report", "@daily"});
    EXPECT_TRUE(contains(made.out, "schedule nightly: report '@daily' UTC, next 2"));
    create("weekly", "@weekly");
    const auto listed = pawl({"schedule", "list"}).out;
    for (const char* part : {"SCHEDULE", "nightly", "weekly", "@weekly", "active"})
        EXPECT_TRUE(contains(listed, part));
    const auto shown = pawl({"schedule", "show", "nightly"}).out;
    for (const char* part : {"time zone   UTC", "overlap     allow", "catch-up    last"})
        EXPECT_TRUE(contains(shown, part));
    EXPECT_TRUE(contains(pawl({"schedule", "pause", "nightly"}).out, "next paused"));
}

TEST_F(ScheduleCliTest, a_schedule_is_paused_resumed_run_and_deleted) {
    create("nightly");
    const json paused = pawl_json({"schedule", "pause", "nightly"});
    EXPECT_EQ(paused["paused"], true);
    EXPECT_TRUE(paused["next_fire_at"].is_null());
    EXPECT_EQ(pawl_json({"schedule", "resume", "nightly"})["paused"], false);
    const json run = pawl_json({"schedule", "run", "nightly"});
    EXPECT_EQ(run["schedule"], "nightly");
    const json shown = pawl_json({"run", "show", std::to_string(run["id"].get<int>())});
    EXPECT_EQ(shown["workflow"], "report");
    EXPECT_EQ(shown["tags"][0], "schedule:nightly");
    EXPECT_EQ(pawl_json({"schedule", "delete", "nightly"})["deleted"], true);
    EXPECT_EQ(failure({"schedule", "show", "nightly"}), "schedule_not_found");
    EXPECT_EQ(failure({"schedule", "delete", "nightly"}), "schedule_not_found");
}

TEST_F(ScheduleCliTest, next_shows_fire_times_of_a_schedule_or_a_cron) {
    create("nightly", "30 2 * * *");
    EXPECT_EQ(
        pawl_json({"schedule", "next", "nightly", "--after", "2026-01-01T00:00:00Z", "--count", "2"}
        ),
        json({"2026-01-01T02:30:00.000000Z", "2026-01-02T02:30:00.000000Z"})
    );
    EXPECT_EQ(pawl_json({"schedule", "next", "nightly"}).size(), 5U);
    const auto text = pawl(
        {"schedule",
         "next",
         "--cron",
         "30 2 * * *",
         "--time-zone",
         "America/New_York",
         "--after",
         "2026-03-07T12:00:00Z",
         "--count",
         "2"}
    );
    EXPECT_EQ(text.out, "2026-03-08T07:00:00Z\n2026-03-09T06:30:00Z\n");
    EXPECT_EQ(pawl({"schedule", "next"}).code, 2);
    EXPECT_EQ(pawl({"schedule", "next", "nightly", "--cron", "@daily"}).code, 2);
}

TEST_F(ScheduleCliTest, errors_point_at_what_is_wrong) {
    const auto wrong = pawl({"schedule", "create", "x", "report", "0 25 * * *"});
    EXPECT_EQ(wrong.code, 1);
    EXPECT_TRUE(contains(wrong.err, "cron '0 25 * * *': field 2 (hour): 25 is above 23"));
    EXPECT_EQ(
        failure({"schedule", "create", "x", "report", "@daily", "--time-zone", "Mars"}),
        "invalid_argument"
    );
    EXPECT_EQ(failure({"schedule", "create", "x", "nowhere", "@daily"}), "workflow_not_found");
    EXPECT_EQ(failure({"schedule", "create", "x", "report", "@daily", "{"}), "invalid_payload");
    EXPECT_EQ(pawl({"schedule", "create", "x", "report", "@daily", "--overlap", "maybe"}).code, 2);
    EXPECT_TRUE(contains(pawl({"schedule", "show", "x"}).err, "pawl schedule list"));
}

}  // namespace
}  // namespace pawl::test
