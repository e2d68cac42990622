// Schedules in the public API: created, changed, paused, fired, deleted.
#include <thread>

#include "support/schedule_test.h"

namespace pawl::test {
namespace {

class SchedulesTest : public ScheduleStoreTest {};
PAWL_FOR_EACH_BACKEND(SchedulesTest);

TEST_P(SchedulesTest, a_schedule_is_kept_with_all_it_was_given) {
    const ScheduleInfo made = make(
        "30 2 * * mon-fri",
        {.time_zone = "America/New_York",
         .start = time_of("2026-02-01 00:00"),
         .end = time_of("2027-02-01 00:00"),
         .jitter = 90s,
         .priority = 5,
         .overlap = Overlap::queue_one,
         .catch_up = CatchUp::all,
         .catch_up_limit = 12}
    );
    EXPECT_EQ(made.name, "s");
    EXPECT_EQ(made.workflow, "job");
    EXPECT_EQ(made.cron, "30 2 * * mon-fri");
    EXPECT_EQ(made.time_zone, "America/New_York");
    EXPECT_EQ(made.params.text, "7");
    EXPECT_EQ(made.start, time_of("2026-02-01 00:00"));
    EXPECT_EQ(made.end, time_of("2027-02-01 00:00"));
    EXPECT_EQ(made.jitter, Duration(90s));
    EXPECT_EQ(made.priority, 5);
    EXPECT_EQ(made.overlap, Overlap::queue_one);
    EXPECT_EQ(made.catch_up, CatchUp::all);
    EXPECT_EQ(made.catch_up_limit, 12);
    EXPECT_FALSE(made.paused);
    EXPECT_EQ(next(), "2026-02-02 07:30");
    EXPECT_FALSE(made.last_fire_at);
    EXPECT_FALSE(made.last_run);
    EXPECT_FALSE(made.waiting_fire_at);
    EXPECT_EQ(made.created_at, time_of("2026-01-01 00:00"));
}

TEST_P(SchedulesTest, defaults_are_utc_allow_and_last) {
    const ScheduleInfo made = store().create_schedule("s", "job", "@hourly");
    EXPECT_EQ(made.time_zone, "UTC");
    EXPECT_EQ(made.params.text, "null");
    EXPECT_EQ(made.overlap, Overlap::allow);
    EXPECT_EQ(made.catch_up, CatchUp::last);
    EXPECT_EQ(made.catch_up_limit, 100);
    EXPECT_EQ(text_of(*made.next_fire_at), "2026-01-01 01:00");
}

TEST_P(SchedulesTest, an_existing_one_keeps_what_is_not_given) {
    make("@hourly", {.time_zone = "Asia/Kolkata", .jitter = 5s, .catch_up_limit = 3});
    make_workflow("other");
    const ScheduleInfo changed =
        store().create_schedule("s", "other", "@daily", Json{"8"}, {.priority = 2});
    EXPECT_EQ(changed.workflow, "other");
    EXPECT_EQ(changed.params.text, "8");
    EXPECT_EQ(changed.time_zone, "Asia/Kolkata");
    EXPECT_EQ(changed.jitter, Duration(5s));
    EXPECT_EQ(changed.catch_up_limit, 3);
    EXPECT_EQ(changed.priority, 2);
    EXPECT_EQ(next(), "2026-01-01 18:30");
    EXPECT_EQ(store().schedules().size(), 1U);
}

TEST_P(SchedulesTest, making_the_same_one_again_does_not_lose_what_was_missed) {
    make("@hourly");
    set("2026-01-01 05:30");
    make("@hourly", {.priority = 1});
    EXPECT_EQ(next(), "2026-01-01 01:00");
    make("0 * * * *");
    EXPECT_EQ(next(), "2026-01-01 06:00") << "other times are counted from now";
}

TEST_P(SchedulesTest, an_invalid_option_is_named_and_changes_nothing) {
    make("@hourly");
    const auto refused = [&](const std::string& cron, const ScheduleOptions& options) {
        const Error error = error_of([&] { make(cron, options); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        return std::string(error.what());
    };
    EXPECT_TRUE(contains(refused("0 25 * * *", {}), "field 2 (hour): 25 is above 23"));
    EXPECT_TRUE(contains(refused("@daily", {.time_zone = "Mars/Phobos"}), "'Mars/Phobos'"));
    EXPECT_TRUE(contains(refused("@daily", {.jitter = -1s}), "jitter"));
    EXPECT_EQ(get().cron, "@hourly");
    const Error unknown = error_of([&] { store().create_schedule("t", "nowhere", "@daily"); });
    EXPECT_EQ(unknown.code(), ErrorCode::workflow_not_found);
    EXPECT_TRUE(contains(unknown.what(), "'nowhere'"));
    EXPECT_EQ(store().schedules().size(), 1U);
}

TEST_P(SchedulesTest, they_are_listed_by_name) {
    for (const char* name : {"b", "a", "c"}) store().create_schedule(name, "job", "@daily");
    std::string names;
    for (const ScheduleInfo& schedule : store().schedules()) names += schedule.name;
    EXPECT_EQ(names, "abc");
}

TEST_P(SchedulesTest, a_paused_one_fires_nothing_and_catches_nothing_up) {
    make("@hourly", {.catch_up = CatchUp::all});
    store().pause_schedule("s");
    EXPECT_TRUE(get().paused);
    EXPECT_EQ(next(), "never");
    look_at("2026-01-01 05:30");
    store().resume_schedule("s");
    EXPECT_FALSE(get().paused);
    EXPECT_EQ(next(), "2026-01-01 06:00");
    look();
    EXPECT_EQ(fired(), "");
    look_at("2026-01-01 06:00");
    EXPECT_EQ(fired(), "06:00");
}

TEST_P(SchedulesTest, pausing_twice_is_fine_and_a_change_does_not_resume) {
    make("@hourly");
    store().resume_schedule("s");
    EXPECT_EQ(next(), "2026-01-01 01:00");
    store().pause_schedule("s");
    store().pause_schedule("s");
    make("@daily");
    EXPECT_TRUE(get().paused);
    EXPECT_EQ(next(), "never");
    store().resume_schedule("s");
    EXPECT_EQ(next(), "2026-01-02 00:00");
}

TEST_P(SchedulesTest, run_now_makes_one_run_more_and_leaves_the_times_alone) {
    make("@hourly", {.priority = 4});
    const auto first = store().run_schedule_now("s");
    const auto second = store().run_schedule_now("s");
    EXPECT_NE(first.id(), second.id());
    const RunInfo run = info(second.id());
    EXPECT_FALSE(run.idempotency_key);
    EXPECT_EQ(run.tags, std::vector<std::string>{"schedule:s"});
    EXPECT_EQ(run.priority, 4);
    EXPECT_EQ(run.input.text, "7");
    EXPECT_EQ(next(), "2026-01-01 01:00");
    EXPECT_FALSE(get().last_run);
    store().pause_schedule("s");
    EXPECT_NO_THROW((void)store().run_schedule_now("s")) << "also while it is paused";
}

TEST_P(SchedulesTest, a_deleted_one_is_gone_and_its_runs_stay) {
    make("@hourly");
    look_at("2026-01-01 01:00");
    store().delete_schedule("s");
    look_at("2026-01-01 02:00");
    EXPECT_EQ(fired(), "01:00");
    EXPECT_TRUE(store().schedules().empty());
}

TEST_P(SchedulesTest, an_unknown_one_is_named) {
    const auto code = [&](const auto& call) {
        const Error error = error_of(call);
        EXPECT_TRUE(contains(error.what(), "'nothing'"));
        return error.code();
    };
    EXPECT_EQ(code([&] { (void)store().schedule_info("nothing"); }), ErrorCode::schedule_not_found);
    EXPECT_EQ(code([&] { store().pause_schedule("nothing"); }), ErrorCode::schedule_not_found);
    EXPECT_EQ(code([&] { store().resume_schedule("nothing"); }), ErrorCode::schedule_not_found);
    EXPECT_EQ(
        code([&] { (void)store().run_schedule_now("nothing"); }), ErrorCode::schedule_not_found
    );
    EXPECT_EQ(code([&] { store().delete_schedule("nothing"); }), ErrorCode::schedule_not_found);
}

TEST_P(SchedulesTest, a_deleted_workflow_takes_its_schedules_with_it) {
    make("@hourly");
    make_workflow("other");
    store().create_schedule("t", "other", "@hourly");
    store().delete_workflow("job");
    ASSERT_EQ(store().schedules().size(), 1U);
    EXPECT_EQ(store().schedules()[0].name, "t");
    look_at("2026-01-01 01:00");
    EXPECT_EQ(store().count_runs({.workflow = "other"}).queued, 1);
}

TEST_P(SchedulesTest, changes_at_the_same_time_lose_nothing) {
    make("@hourly");
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i) {
            threads.emplace_back([&, i] {
                const Store mine = open();
                for (int n = 0; n < 10; ++n) {
                    if (i % 2 == 0) {
                        mine.create_schedule("s", "job", "@hourly", Json{"1"}, {.priority = n});
                    } else {
                        mine.create_schedule(
                            "s", "job", "@hourly", Json{"1"}, {.jitter = Duration(n)}
                        );
                    }
                }
            });
        }
    }
    EXPECT_EQ(get().priority, 9);
    EXPECT_EQ(get().jitter, Duration(9));
}

}  // namespace
}  // namespace pawl::test
