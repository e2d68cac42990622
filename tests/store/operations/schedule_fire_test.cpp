// Fire times: one run each under any race; policies for overlaps and missed times.
#include <atomic>
#include <thread>

#include "model/schedule.h"
#include "support/schedule_test.h"

namespace pawl::test {
namespace {

class ScheduleFireTest : public ScheduleStoreTest {
protected:
    // The fire that a scheduler would write now.
    seam::ScheduleFire fire_now() const {
        const auto found = detail::Access::backend(store())->due_schedules(10);
        const auto& schedule = found.due.at(0);
        seam::ScheduleFire fire{schedule.id, schedule.version, {}, {}};
        auto due = model::due_runs(schedule.info, found.now);
        fire.next_fire_at = due.next_fire_at;
        for (auto& run : due.runs) fire.runs.push_back({run.fire_at, run.run});
        return fire;
    }
    bool write(const seam::ScheduleFire& fire) const {
        return detail::Access::backend(store())->fire_schedule(fire);
    }
};
PAWL_FOR_EACH_BACKEND(ScheduleFireTest);

TEST_P(ScheduleFireTest, a_fire_time_makes_a_run_with_key_and_tag) {
    make("@hourly", {.priority = 3});
    look_at("2026-01-01 00:59:59");
    EXPECT_EQ(fired(), "");
    look_at("2026-01-01 01:00:02");
    ASSERT_EQ(runs().size(), 1U);
    const RunInfo run = runs()[0];
    EXPECT_EQ(run.idempotency_key, "schedule:s:2026-01-01T01:00:00Z");
    EXPECT_EQ(run.tags, std::vector<std::string>{"schedule:s"});
    EXPECT_EQ(run.priority, 3);
    EXPECT_EQ(run.input.text, "7");
    EXPECT_EQ(message_of(run.id)->state, MessageState::ready);
    const ScheduleInfo schedule = get();
    EXPECT_EQ(schedule.last_run, run.id);
    EXPECT_EQ(schedule.last_fire_at, time_of("2026-01-01 01:00"));
    EXPECT_EQ(next(), "2026-01-01 02:00");
    look();
    EXPECT_EQ(runs().size(), 1U);
}

TEST_P(ScheduleFireTest, jitter_delays_the_run_and_not_the_schedule) {
    make("@hourly", {.jitter = 30min});
    look_at("2026-01-01 01:00");
    const auto message = message_of(runs().at(0).id);
    EXPECT_EQ(message->state, MessageState::waiting);
    EXPECT_GT(message->visible_at, time_of("2026-01-01 01:00"));
    EXPECT_LT(message->visible_at, time_of("2026-01-01 01:30"));
    EXPECT_EQ(next(), "2026-01-01 02:00");
}

TEST_P(ScheduleFireTest, a_schedule_ends_with_its_last_fire_time) {
    make("@hourly", {.end = time_of("2026-01-01 01:30")});
    look_at("2026-01-01 01:00");
    EXPECT_EQ(next(), "never");
    look_at("2026-01-01 02:00");
    EXPECT_EQ(fired(), "01:00");
    EXPECT_FALSE(detail::Access::backend(store())->due_schedules(10).next_due);
}

TEST_P(ScheduleFireTest, of_two_concurrent_fires_one_succeeds) {
    make("@hourly");
    set("2026-01-01 01:00");
    const auto fire = fire_now();
    EXPECT_TRUE(write(fire));
    EXPECT_FALSE(write(fire));
    EXPECT_EQ(fired(), "01:00");
}

TEST_P(ScheduleFireTest, a_fire_read_before_a_change_is_refused) {
    make("@hourly");
    set("2026-01-01 01:00");
    const auto fire = fire_now();
    make("@hourly", {.priority = 1});
    EXPECT_FALSE(write(fire));
    const auto second = fire_now();
    store().pause_schedule("s");
    EXPECT_FALSE(write(second));
    store().delete_schedule("s");
    EXPECT_FALSE(write(second));
    EXPECT_EQ(fired(), "");
}

TEST_P(ScheduleFireTest, a_time_that_has_not_come_by_the_databases_clock_is_refused) {
    make("@hourly");
    set("2026-01-01 01:00");
    const auto fire = fire_now();
    set("2026-01-01 00:59:59");
    EXPECT_FALSE(write(fire));
    EXPECT_EQ(next(), "2026-01-01 01:00");
    set("2026-01-01 01:00");
    EXPECT_TRUE(write(fire));
}

TEST_P(ScheduleFireTest, a_schedule_that_is_created_again_does_not_fire_a_time_twice) {
    make("@hourly");
    look_at("2026-01-01 01:00");
    store().delete_schedule("s");
    set("2026-01-01 00:30");
    make("@hourly");
    look_at("2026-01-01 01:00");
    EXPECT_EQ(fired(), "01:00") << "the idempotency key holds it off";
    EXPECT_EQ(get().last_run, runs()[0].id);
}

TEST_P(ScheduleFireTest, missed_times_follow_the_catch_up_policy) {
    const auto after_downtime = [&](CatchUp catch_up, int limit) {
        store().delete_workflow("job");
        make_workflow();
        set("2026-01-01 00:00");
        make("@hourly", {.catch_up = catch_up, .catch_up_limit = limit});
        look_at("2026-01-01 06:30");
        EXPECT_EQ(next(), "2026-01-01 07:00");
        const std::string result = fired();
        for (const RunInfo& run : runs()) store().cancel(run.id, "enough");
        return result;
    };
    EXPECT_EQ(after_downtime(CatchUp::none, 100), "");
    EXPECT_EQ(after_downtime(CatchUp::last, 100), "06:00");
    EXPECT_EQ(after_downtime(CatchUp::all, 100), "01:00, 02:00, 03:00, 04:00, 05:00, 06:00");
    EXPECT_EQ(after_downtime(CatchUp::all, 2), "05:00, 06:00");
}

TEST_P(ScheduleFireTest, with_allow_runs_overlap) {
    make("@hourly", {.overlap = Overlap::allow});
    look_at("2026-01-01 01:00");
    look_at("2026-01-01 02:00");
    EXPECT_EQ(fired(), "01:00, 02:00");
}

TEST_P(ScheduleFireTest, with_skip_fire_times_are_left_out_while_the_last_run_is_live) {
    make("@hourly", {.overlap = Overlap::skip});
    look_at("2026-01-01 01:00");
    look_at("2026-01-01 02:00");
    EXPECT_EQ(fired(), "01:00");
    EXPECT_EQ(next(), "2026-01-01 03:00");
    EXPECT_EQ(get().last_fire_at, time_of("2026-01-01 01:00"));
    finish_one();
    look();
    EXPECT_EQ(fired(), "01:00") << "what was left out stays so";
    look_at("2026-01-01 03:00");
    EXPECT_EQ(fired(), "01:00, 03:00");
}

TEST_P(ScheduleFireTest, with_skip_only_the_first_of_several_missed_ones_is_made) {
    make("@hourly", {.overlap = Overlap::skip, .catch_up = CatchUp::all});
    look_at("2026-01-01 03:30");
    EXPECT_EQ(fired(), "01:00");
    EXPECT_EQ(next(), "2026-01-01 04:00");
}

TEST_P(ScheduleFireTest, with_queue_one_one_waits_for_the_end_of_the_last) {
    make("@hourly", {.overlap = Overlap::queue_one});
    for (const char* time : {"2026-01-01 01:00", "2026-01-01 02:00", "2026-01-01 03:00"})
        look_at(time);
    EXPECT_EQ(fired(), "01:00");
    EXPECT_EQ(get().waiting_fire_at, time_of("2026-01-01 02:00"));
    EXPECT_TRUE(detail::Access::backend(store())->due_schedules(10).waiting);
    EXPECT_TRUE(detail::Access::backend(store())->due_schedules(10).due.empty());
    set("2026-01-01 03:20");
    finish_one();
    look();
    EXPECT_EQ(fired(), "01:00, 02:00") << "as soon as the last has ended";
    EXPECT_FALSE(get().waiting_fire_at);
    EXPECT_EQ(get().last_fire_at, time_of("2026-01-01 02:00"));
    EXPECT_EQ(next(), "2026-01-01 04:00");
    look_at("2026-01-01 04:00");
    EXPECT_EQ(get().waiting_fire_at, time_of("2026-01-01 04:00"));
}

TEST_P(ScheduleFireTest, with_queue_one_a_cancelled_or_deleted_run_makes_room_too) {
    make("@hourly", {.overlap = Overlap::queue_one});
    look_at("2026-01-01 01:00");
    look_at("2026-01-01 02:00");
    store().cancel(runs()[0].id, "not needed");
    look();
    EXPECT_EQ(fired(), "01:00, 02:00");
    look_at("2026-01-01 03:00");
    store().delete_run(runs()[1].id, "not needed");
    look();
    EXPECT_EQ(get().last_fire_at, time_of("2026-01-01 03:00"));
}

TEST_P(ScheduleFireTest, a_waiting_fire_is_dropped_by_a_pause_or_another_policy) {
    make("@hourly", {.overlap = Overlap::queue_one});
    look_at("2026-01-01 01:00");
    look_at("2026-01-01 02:00");
    store().pause_schedule("s");
    EXPECT_FALSE(get().waiting_fire_at);
    store().resume_schedule("s");
    look_at("2026-01-01 03:00");
    EXPECT_TRUE(get().waiting_fire_at);
    make("@hourly", {.overlap = Overlap::skip});
    EXPECT_FALSE(get().waiting_fire_at);
}

TEST_P(ScheduleFireTest, summer_time_moves_the_run_and_no_day_is_lost) {
    set("2026-03-07 00:00");
    make("30 2 * * *", {.time_zone = "America/New_York"});
    std::string times;
    for (int day = 0; day < 3; ++day) {
        testing::set_clock(store(), *get().next_fire_at);
        look();
        times += text_of(*get().last_fire_at) + "; ";
    }
    EXPECT_EQ(times, "2026-03-07 07:30; 2026-03-08 07:00; 2026-03-09 06:30; ");
    EXPECT_EQ(runs().size(), 3U);
}

TEST_P(ScheduleFireTest, a_repeated_or_skipped_local_time_makes_one_run_in_every_zone) {
    struct Case {
        const char* zone;
        const char* cron;
        const char* from;
        const char* times;
    };
    const Case cases[] = {
        {"America/New_York",
         "30 1 * * *",
         "2026-10-31 00:00",
         "2026-10-31 05:30; 2026-11-01 05:30; 2026-11-02 06:30; "},
        {"Europe/London",
         "15 1 * * *",
         "2026-03-28 00:00",
         "2026-03-28 01:15; 2026-03-29 01:00; 2026-03-30 00:15; "},
        {"Europe/London",
         "15 1 * * *",
         "2026-10-24 00:00",
         "2026-10-24 00:15; 2026-10-25 00:15; 2026-10-26 01:15; "},
        {"Asia/Kolkata",
         "30 2 * * *",
         "2026-03-28 00:00",
         "2026-03-28 21:00; 2026-03-29 21:00; 2026-03-30 21:00; "},
        {"Asia/Kolkata",
         "30 2 * * *",
         "2026-10-24 00:00",
         "2026-10-24 21:00; 2026-10-25 21:00; 2026-10-26 21:00; "},
    };
    for (const auto& [zone, cron, from, expected] : cases) {
        set(from);
        store().delete_workflow("job");
        store().create_workflow("job");
        make(cron, {.time_zone = zone});
        std::string times;
        for (int day = 0; day < 3; ++day) {
            testing::set_clock(store(), *get().next_fire_at);
            look();
            advance(1h);  // through the hour that occurs twice
            look();
            times += text_of(*get().last_fire_at) + "; ";
        }
        EXPECT_EQ(times, expected) << zone;
        EXPECT_EQ(runs().size(), 3U) << zone;
        for (const RunInfo& run : runs()) store().cancel(run.id, "over");
    }
}

TEST_P(ScheduleFireTest, a_year_of_a_daily_schedule_makes_a_run_a_day) {
    make("30 2 * * *", {.time_zone = "Europe/London", .catch_up = CatchUp::all});
    runtime::Scheduler scheduler(*detail::Access::backend(store()));
    for (int month = 1; month <= 12; ++month) {
        const auto first = std::chrono::year(2026) / month / 1;
        testing::set_clock(
            store(), std::chrono::sys_days(first + std::chrono::months(1)) + std::chrono::hours(0)
        );
        scheduler.fire_due();
    }
    std::set<std::string> days;
    for (const RunInfo& run : runs())
        days.insert(run.idempotency_key->substr(0, run.idempotency_key->find('T')));
    EXPECT_EQ(days.size(), 365U);
    EXPECT_EQ(runs().size(), 365U);
    EXPECT_EQ(next(), "2027-01-01 02:30");
}

TEST_P(ScheduleFireTest, more_than_one_page_of_due_schedules_are_all_fired) {
    for (int i = 0; i < 120; ++i)
        store().create_schedule("s" + std::to_string(i), "job", "@hourly");
    set("2026-01-01 01:00");
    runtime::Scheduler scheduler(*detail::Access::backend(store()));
    while (scheduler.fire_due() == Duration::zero()) {
    }
    EXPECT_EQ(runs().size(), 120U);
}

TEST_P(ScheduleFireTest, one_that_cannot_be_fired_does_not_harm_the_others) {
    make("@hourly");
    store().create_schedule("good", "job", "0 * * * *");
    kit().write_time_zone("s", "Mars/Phobos");
    look_at("2026-01-01 01:00");
    EXPECT_EQ(runs().size(), 1U);
    EXPECT_TRUE(contains(
        log_text(), "schedule 's' cannot be fired by this worker: unknown time zone 'Mars/Phobos'"
    ));
    make("@hourly", {.time_zone = "UTC"});
    look_at("2026-01-01 02:00");
    EXPECT_EQ(runs().size(), 3U);
}

TEST_P(ScheduleFireTest, schedulers_that_race_make_each_run_once) {
    make("* * * * *", {.catch_up = CatchUp::all, .catch_up_limit = 1000});
    store().create_schedule("t", "job", "@every 30s", Json{}, {.catch_up = CatchUp::all});
    std::atomic<bool> over = false;
    {
        std::vector<std::jthread> racers;
        for (int i = 0; i < 4; ++i) {
            racers.emplace_back([&] {
                const Store mine = open();
                runtime::Scheduler scheduler(*detail::Access::backend(mine));
                while (!over) {
                    try {
                        scheduler.fire_due();
                    } catch (const Error& error) {
                        if (!error.retryable()) ADD_FAILURE() << error.what();
                    }
                }
            });
        }
        for (int minute = 1; minute <= 40; ++minute) {
            testing::set_clock(store(), time_of("2026-01-01 00:00") + std::chrono::minutes(minute));
            EXPECT_TRUE(eventually([&] {
                return runs().size() == static_cast<std::size_t>(3 * minute);
            })) << minute;
        }
        over = true;
    }
    std::set<std::string> keys;
    for (const RunInfo& run : runs()) keys.insert(*run.idempotency_key);
    EXPECT_EQ(keys.size(), 120U);
    EXPECT_EQ(runs().size(), 120U);
    EXPECT_EQ(next(), "2026-01-01 00:41");
}

TEST_P(ScheduleFireTest, deleting_the_workflow_while_schedulers_fire_leaves_nothing_behind) {
    for (int round = 0; round < 10; ++round) {
        make_workflow("doomed");
        store().create_schedule("d", "doomed", "@every 1s", Json{}, {.catch_up = CatchUp::none});
        testing::advance_clock(store(), 1min);
        std::jthread racer([&] {
            const Store mine = open();
            try {
                runtime::Scheduler(*detail::Access::backend(mine)).fire_due();
            } catch (const Error& error) {
                if (!error.retryable()) ADD_FAILURE() << error.what();
            }
        });
        while (true) {
            try {
                store().delete_workflow("doomed");
                break;
            } catch (const Error& error) {
                ASSERT_EQ(error.code(), ErrorCode::workflow_has_runs) << error.what();
                for (const RunInfo& run : store().runs({.workflow = "doomed"})) {
                    if (!is_finished(run.status)) store().cancel(run.id, "the workflow goes");
                }
            }
        }
    }
    EXPECT_EQ(count(Rows::schedules), 0);
}

}  // namespace
}  // namespace pawl::test
