#include "model/schedule.h"

#include <algorithm>
#include <set>

#include "support/expect.h"
#include "support/times.h"

namespace pawl::test {
namespace {

using model::due_runs;
using model::DueRuns;

ScheduleInfo hourly(CatchUp catch_up = CatchUp::last) {
    ScheduleInfo schedule;
    schedule.name = "report";
    schedule.workflow = "make_report";
    schedule.cron = "@hourly";
    schedule.time_zone = "UTC";
    schedule.params = Json{"{\"n\":1}"};
    schedule.catch_up = catch_up;
    schedule.next_fire_at = time_of("2026-01-01 00:00");
    return schedule;
}

std::string fired(const DueRuns& due) {
    std::string text;
    for (const auto& run : due.runs) text += (text.empty() ? "" : ", ") + text_of(run.fire_at);
    return text;
}
std::string next(const DueRuns& due) {
    return due.next_fire_at ? text_of(*due.next_fire_at) : "never";
}

TEST(ScheduleTest, a_fire_time_that_has_come_makes_one_run) {
    ScheduleInfo schedule = hourly();
    schedule.priority = 7;
    const DueRuns due = due_runs(schedule, time_of("2026-01-01 00:00"));
    ASSERT_EQ(due.runs.size(), 1U);
    const NewRun& run = due.runs[0].run;
    EXPECT_EQ(run.workflow, "make_report");
    EXPECT_EQ(run.input.text, "{\"n\":1}");
    EXPECT_EQ(run.options.idempotency_key, "schedule:report:2026-01-01T00:00:00Z");
    EXPECT_EQ(run.options.tags, std::vector<std::string>{"schedule:report"});
    EXPECT_EQ(run.options.priority, 7);
    EXPECT_EQ(run.options.at, time_of("2026-01-01 00:00"));
    EXPECT_EQ(next(due), "2026-01-01 01:00");
}

TEST(ScheduleTest, before_its_time_nothing_is_due) {
    const DueRuns due = due_runs(hourly(), time_of("2025-12-31 23:59:59"));
    EXPECT_TRUE(due.runs.empty());
    EXPECT_EQ(next(due), "2026-01-01 00:00");
}

TEST(ScheduleTest, up_to_a_minute_late_is_in_time) {
    EXPECT_EQ(
        fired(due_runs(hourly(CatchUp::none), time_of("2026-01-01 00:01:00"))), "2026-01-01 00:00"
    );
    const DueRuns missed = due_runs(hourly(CatchUp::none), time_of("2026-01-01 00:01:01"));
    EXPECT_EQ(fired(missed), "");
    EXPECT_EQ(next(missed), "2026-01-01 01:00");
}

TEST(ScheduleTest, the_catch_up_policy_decides_about_missed_times) {
    const Timestamp now = time_of("2026-01-01 05:30");
    EXPECT_EQ(fired(due_runs(hourly(CatchUp::none), now)), "");
    EXPECT_EQ(fired(due_runs(hourly(CatchUp::last), now)), "2026-01-01 05:00");
    ScheduleInfo all = hourly(CatchUp::all);
    EXPECT_EQ(due_runs(all, now).runs.size(), 6U);
    all.catch_up_limit = 2;
    EXPECT_EQ(fired(due_runs(all, now)), "2026-01-01 04:00, 2026-01-01 05:00");
    EXPECT_EQ(next(due_runs(all, now)), "2026-01-01 06:00");
}

TEST(ScheduleTest, current_fire_times_fire_in_addition_to_missed_ones) {
    const Timestamp now = time_of("2026-01-01 05:00:20");
    EXPECT_EQ(fired(due_runs(hourly(CatchUp::none), now)), "2026-01-01 05:00");
    EXPECT_EQ(fired(due_runs(hourly(CatchUp::last), now)), "2026-01-01 04:00, 2026-01-01 05:00");
}

TEST(ScheduleTest, years_of_missed_times_are_not_walked_through) {
    ScheduleInfo schedule = hourly(CatchUp::all);
    schedule.cron = "* * * * *";
    schedule.catch_up_limit = 100;
    const DueRuns due = due_runs(schedule, time_of("3026-01-01 00:00"));
    EXPECT_EQ(due.runs.size(), 102U) << "100 missed ones, and two of the last minute";
    schedule.cron = "@every 1s";
    schedule.catch_up_limit = 5;
    EXPECT_EQ(due_runs(schedule, time_of("3026-01-01 00:00")).runs.size(), 66U);
    schedule.cron = "0 0 29 2 *";
    EXPECT_EQ(due_runs(schedule, time_of("2041-01-01 00:00")).runs.size(), 4U);
}

TEST(ScheduleTest, start_and_end_bound_the_fire_times) {
    ScheduleInfo schedule = hourly(CatchUp::all);
    schedule.start = time_of("2026-01-01 03:00");
    schedule.end = time_of("2026-01-01 05:00");
    EXPECT_EQ(*model::next_fire(schedule, time_of("2026-01-01 00:00")), schedule.start);
    EXPECT_EQ(*model::next_fire(schedule, time_of("2026-01-01 04:59")), schedule.end);
    EXPECT_FALSE(model::next_fire(schedule, *schedule.end));
    const DueRuns due = due_runs(schedule, time_of("2026-01-02 00:00"));
    EXPECT_EQ(fired(due), "2026-01-01 03:00, 2026-01-01 04:00, 2026-01-01 05:00");
    EXPECT_EQ(next(due), "never");
}

TEST(ScheduleTest, an_interval_is_counted_from_the_start) {
    ScheduleInfo schedule = hourly();
    schedule.cron = "@every 1h";
    schedule.start = time_of("2026-01-01 00:20");
    EXPECT_EQ(text_of(*model::next_fire(schedule, Timestamp{})), "2026-01-01 00:20");
    EXPECT_EQ(text_of(*model::next_fire(schedule, *schedule.start)), "2026-01-01 01:20");
    schedule.end = time_of("2026-01-01 02:30");
    EXPECT_EQ(next_fire_times(schedule, Timestamp{}, 10).size(), 3U);
}

TEST(ScheduleTest, a_waiting_fire_time_comes_first) {
    ScheduleInfo schedule = hourly();
    schedule.waiting_fire_at = time_of("2025-12-31 23:00");
    const DueRuns early = due_runs(schedule, time_of("2025-12-31 23:30"));
    EXPECT_EQ(fired(early), "2025-12-31 23:00");
    EXPECT_EQ(next(early), "2026-01-01 00:00");
    EXPECT_EQ(
        fired(due_runs(schedule, time_of("2026-01-01 00:00"))), "2025-12-31 23:00, 2026-01-01 00:00"
    );
}

TEST(ScheduleTest, jitter_depends_on_schedule_and_fire_time_only) {
    ScheduleInfo schedule = hourly(CatchUp::all);
    schedule.jitter = 10min;
    const auto late = [](const ScheduleInfo& info) {
        std::vector<Duration> times;
        for (const auto& run : due_runs(info, time_of("2026-01-03 00:00")).runs)
            times.push_back(std::chrono::duration_cast<Duration>(*run.run.options.at - run.fire_at)
            );
        return times;
    };
    const auto times = late(schedule);
    EXPECT_EQ(times, late(schedule));
    for (const Duration time : times) EXPECT_TRUE(time >= 0ms && time < 10min);
    EXPECT_GT(std::set<Duration>(times.begin(), times.end()).size(), 40U) << "of 49";
    EXPECT_GT(*std::ranges::max_element(times) - *std::ranges::min_element(times), 5min);
    schedule.name = "another";
    EXPECT_NE(times, late(schedule));
}

TEST(ScheduleTest, keys_of_one_schedule_differ) {
    ScheduleInfo schedule = hourly(CatchUp::all);
    schedule.cron = "@every 1500ms";
    std::set<std::string> keys;
    const auto due = due_runs(schedule, time_of("2026-01-01 00:00:30"));
    for (const auto& run : due.runs) keys.insert(*run.run.options.idempotency_key);
    EXPECT_EQ(keys.size(), 21U);
    EXPECT_TRUE(keys.contains("schedule:report:2026-01-01T00:00:01.500000Z"));
}

TEST(ScheduleTest, an_option_that_is_not_given_changes_nothing) {
    ScheduleInfo schedule = hourly();
    schedule.start = time_of("2026-01-01 00:00");
    schedule.jitter = 5s;
    schedule.priority = 3;
    const ScheduleInfo same = model::changed_by(schedule, {});
    EXPECT_EQ(same.start, schedule.start);
    EXPECT_EQ(same.jitter, schedule.jitter);
    EXPECT_EQ(same.priority, 3);
    const ScheduleInfo changed = model::changed_by(
        schedule,
        {.time_zone = "Asia/Kolkata",
         .start = Timestamp{},
         .overlap = Overlap::skip,
         .catch_up = CatchUp::all,
         .catch_up_limit = 5}
    );
    EXPECT_EQ(changed.time_zone, "Asia/Kolkata");
    EXPECT_FALSE(changed.start) << "the epoch: none";
    EXPECT_EQ(changed.overlap, Overlap::skip);
    EXPECT_EQ(changed.catch_up_limit, 5);
    EXPECT_FALSE(model::same_times(schedule, changed));
}

TEST(ScheduleTest, invalid_schedules_are_refused) {
    const auto refused = [](void (*change)(ScheduleInfo&)) {
        ScheduleInfo schedule = hourly();
        change(schedule);
        const Error error = error_of([&] { model::check_schedule(schedule, 100); });
        return std::string(to_string(error.code())) + ": " + error.what();
    };
    EXPECT_TRUE(contains(refused([](auto& s) { s.name = "a b"; }), "invalid schedule name 'a b'"));
    EXPECT_TRUE(contains(refused([](auto& s) { s.cron = "1"; }), "cron '1'"));
    EXPECT_TRUE(contains(refused([](auto& s) { s.time_zone = "X"; }), "time zone 'X'"));
    EXPECT_TRUE(contains(refused([](auto& s) { s.params = Json{"{"}; }), "invalid_payload"));
    EXPECT_TRUE(contains(
        refused([](auto& s) { s.params = Json{"\"" + std::string(100, 'a') + "\""}; }),
        "payload_too_large"
    ));
    EXPECT_TRUE(contains(refused([](auto& s) { s.jitter = -1ms; }), "jitter"));
    EXPECT_TRUE(contains(refused([](auto& s) { s.priority = 2'000'000; }), "priority"));
    EXPECT_TRUE(contains(refused([](auto& s) { s.catch_up_limit = 0; }), "catch_up_limit"));
    EXPECT_TRUE(contains(refused([](auto& s) { s.start = Timestamp::max(); }), "start and end"));
    EXPECT_TRUE(contains(
        refused([](auto& s) {
            s.start = time_of("2026-01-02 00:00");
            s.end = time_of("2026-01-01 00:00");
        }),
        "its end is before its start"
    ));
    EXPECT_TRUE(contains(
        refused([](auto& s) {
            s.start = time_of("2026-01-01 00:01");
            s.end = time_of("2026-01-01 00:59");
        }),
        "it never fires between its start and its end"
    ));
}

}  // namespace
}  // namespace pawl::test
