#include "model/cron.h"

#include <chrono>
#include <pawl/schedule.h>

#include "support/expect.h"
#include "support/times.h"

namespace pawl::test {
namespace {

using model::Cron;

std::string refused(const std::string& cron) {
    const Error error = error_of([&] { (void)Cron::parse(cron); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
}

// The next fire times in UTC, without the year if it is the same: "01-02 03:04".
std::string next(
    const std::string& cron, const std::string& after, int count, const std::string& zone = "UTC"
) {
    std::string text;
    for (const Timestamp at : next_fire_times(cron, zone, time_of(after), count))
        text += (text.empty() ? "" : ", ") + text_of(at);
    return text;
}

TEST(CronTest, fields_take_values_lists_ranges_and_steps) {
    EXPECT_EQ(next("* * * * *", "2026-01-01 00:00:30", 2), "2026-01-01 00:01, 2026-01-01 00:02");
    EXPECT_EQ(next("5 4 * * *", "2026-01-01 04:05", 1), "2026-01-02 04:05");
    EXPECT_EQ(
        next("0,30 9-10 * * *", "2026-01-01 09:10", 4),
        "2026-01-01 09:30, 2026-01-01 10:00, 2026-01-01 10:30, 2026-01-02 09:00"
    );
    EXPECT_EQ(
        next("*/25 0 * * *", "2026-01-01 00:00", 3),
        "2026-01-01 00:25, 2026-01-01 00:50, 2026-01-02 00:00"
    );
    EXPECT_EQ(
        next("10-40/15 0 * * *", "2026-01-01 00:00", 4),
        "2026-01-01 00:10, 2026-01-01 00:25, 2026-01-01 00:40, 2026-01-02 00:10"
    );
    EXPECT_EQ(next("50/5 0 * * *", "2026-01-01 00:00", 2), "2026-01-01 00:50, 2026-01-01 00:55");
    EXPECT_EQ(next(" 0\t0  1 1 * ", "2026-01-01 00:00", 1), "2027-01-01 00:00");
}

TEST(CronTest, months_and_weekdays_have_names) {
    EXPECT_EQ(next("0 0 1 feb,NOV *", "2026-01-01 00:00", 2), "2026-02-01 00:00, 2026-11-01 00:00");
    // The first of January 2026 is a Thursday.
    EXPECT_EQ(
        next("0 0 * * fri-sun", "2026-01-01 00:00", 4),
        "2026-01-02 00:00, 2026-01-03 00:00, 2026-01-04 00:00, 2026-01-09 00:00"
    );
    for (const char* sunday : {"0", "7", "sun", "Sun"})
        EXPECT_EQ(next(std::string("0 0 * * ") + sunday, "2026-01-01 00:00", 1), "2026-01-04 00:00")
            << sunday;
    EXPECT_EQ(next("0 0 * * 6-7", "2026-01-01 00:00", 2), "2026-01-03 00:00, 2026-01-04 00:00");
    EXPECT_EQ(
        next("0 0 * * */3", "2026-01-01 00:00", 3),
        "2026-01-03 00:00, 2026-01-04 00:00, 2026-01-07 00:00"
    );
}

TEST(CronTest, if_both_kinds_of_days_are_restricted_either_matches) {
    EXPECT_EQ(
        next("0 0 10 * mon", "2026-01-01 00:00", 3),
        "2026-01-05 00:00, 2026-01-10 00:00, 2026-01-12 00:00"
    );
    EXPECT_EQ(next("0 0 */2 * mon", "2026-01-01 00:00", 2), "2026-01-05 00:00, 2026-01-19 00:00")
        << "a field that begins with * restricts, but is not counted as such: as in cron";
}

TEST(CronTest, short_months_and_leap_years_are_kept) {
    EXPECT_EQ(next("0 0 31 * *", "2026-01-31 00:00", 2), "2026-03-31 00:00, 2026-05-31 00:00");
    EXPECT_EQ(next("0 0 29 2 *", "2026-01-01 00:00", 2), "2028-02-29 00:00, 2032-02-29 00:00");
    EXPECT_EQ(next("0 0 29 2 *", "2096-03-01 00:00", 1), "2104-02-29 00:00");
    EXPECT_EQ(next("0 0 29 2 */7", "2088-03-01 00:00", 1), "2128-02-29 00:00")
        << "a Sunday; 2100 is no leap year";
}

TEST(CronTest, names_stand_for_fields) {
    const std::string after = "2026-11-16 02:30";  // a Monday
    EXPECT_EQ(next("@hourly", after, 1), "2026-11-16 03:00");
    EXPECT_EQ(next("@daily", after, 1), "2026-11-17 00:00");
    EXPECT_EQ(next("@midnight", after, 1), "2026-11-17 00:00");
    EXPECT_EQ(next("@weekly", after, 1), "2026-11-22 00:00");
    EXPECT_EQ(next("@monthly", after, 1), "2026-12-01 00:00");
    EXPECT_EQ(next("@yearly", after, 1), "2027-01-01 00:00");
    EXPECT_EQ(next("@annually", after, 1), "2027-01-01 00:00");
}

TEST(CronTest, intervals_are_counted_from_the_epoch) {
    EXPECT_EQ(
        next("@every 90s", "1970-01-01 00:00", 3),
        "1970-01-01 00:01:30, 1970-01-01 00:03, 1970-01-01 00:04:30"
    );
    EXPECT_EQ(
        next("@every 1500ms", "1970-01-01 00:00:01", 2),
        "1970-01-01 00:00:01.500000, 1970-01-01 00:00:03"
    );
    EXPECT_EQ(next("@every 2h", "2026-01-01 01:00", 1), "2026-01-01 02:00");
    EXPECT_EQ(next("@every 1d", "2026-03-08 01:00", 1, "America/New_York"), "2026-03-09 00:00")
        << "whatever the time zone";
    EXPECT_EQ(next("@every 1h", "1969-12-31 22:30", 2), "1969-12-31 23:00, 1970-01-01 00:00");
}

TEST(CronTest, an_interval_may_be_counted_from_elsewhere) {
    base::WallClock utc("UTC");
    const Cron cron = Cron::parse("@every 1h");
    const Timestamp origin = time_of("2026-01-01 00:20");
    EXPECT_EQ(text_of(*cron.next(time_of("2026-01-01 05:30"), utc, origin)), "2026-01-01 06:20");
    EXPECT_EQ(text_of(*cron.next(origin, utc, origin)), "2026-01-01 01:20");
}

TEST(CronTest, an_error_points_at_the_field) {
    EXPECT_EQ(refused("0 25 * * *"), "cron '0 25 * * *': field 2 (hour): 25 is above 23");
    EXPECT_EQ(refused("60 * * * *"), "cron '60 * * * *': field 1 (minute): 60 is above 59");
    EXPECT_EQ(refused("0 0 0 * *"), "cron '0 0 0 * *': field 3 (day): 0 is below 1");
    EXPECT_EQ(refused("0 0 1 13 *"), "cron '0 0 1 13 *': field 4 (month): 13 is above 12");
    EXPECT_EQ(refused("0 0 * * 8"), "cron '0 0 * * 8': field 5 (weekday): 8 is above 7");
    EXPECT_EQ(refused("0 0 L * *"), "cron '0 0 L * *': field 3 (day): 'L' is not a valid value");
    EXPECT_EQ(refused("0 0 ? * 1"), "cron '0 0 ? * 1': field 3 (day): '?' is not a valid value");
    EXPECT_EQ(
        refused("0 jan * * *"), "cron '0 jan * * *': field 2 (hour): 'jan' is not a valid value"
    );
    EXPECT_TRUE(contains(refused("5-1 * * * *"), "field 1 (minute): the range '5-1' goes backwards")
    );
    EXPECT_TRUE(contains(refused("* * * * fri-mon"), "field 5 (weekday): the range 'fri-mon'"));
    EXPECT_TRUE(contains(refused("*/0 * * * *"), "field 1 (minute): a step must be above 0"));
    EXPECT_TRUE(contains(refused("*/90 * * * *"), "field 1 (minute): a step of 90 is too long"));
    EXPECT_TRUE(contains(refused("1, * * * *"), "field 1 (minute): an empty part"));
    EXPECT_TRUE(contains(refused("1,,2 * * * *"), "field 1 (minute): an empty part"));
    EXPECT_TRUE(contains(refused("1- * * * *"), "field 1 (minute): a number is missing"));
    EXPECT_TRUE(contains(refused("*/ * * * *"), "field 1 (minute): a number is missing"));
    EXPECT_TRUE(contains(refused("-5 * * * *"), "field 1 (minute): a number is missing"));
    EXPECT_TRUE(contains(refused("99999999999 * * * *"), "field 1 (minute)"));
    EXPECT_TRUE(contains(refused("1.5 * * * *"), "field 1 (minute)"));
}

TEST(CronTest, invalid_expressions_are_refused) {
    EXPECT_TRUE(contains(refused(""), "it has 0 fields"));
    EXPECT_TRUE(contains(refused("* * * *"), "it has 4 fields, but 5 are needed"));
    EXPECT_TRUE(contains(refused("* * * * * *"), "it has 6 fields"));
    EXPECT_TRUE(contains(refused("@reboot"), "unknown nickname; use @hourly"));
    EXPECT_TRUE(contains(refused("30 2 31 2 *"), "it never fires"));
    EXPECT_TRUE(contains(refused("0 0 31 4,6,9,11 *"), "it never fires"));
    EXPECT_TRUE(contains(refused(std::string(300, '*')), "too long"));
    EXPECT_TRUE(contains(refused("@every"), "takes one interval"));
    EXPECT_TRUE(contains(refused("@every 1h 30m"), "takes one interval"));
    EXPECT_TRUE(contains(refused("@every 5x"), "'5x' is not an interval"));
    EXPECT_TRUE(contains(refused("@every s"), "'s' is not an interval"));
    EXPECT_TRUE(contains(refused("@every 10"), "'10' is not an interval"));
    EXPECT_TRUE(contains(refused("@every -1s"), "'-1s' is not an interval"));
    EXPECT_TRUE(contains(refused("@every 999ms"), "below one second"));
    EXPECT_TRUE(contains(refused("@every 0s"), "below one second"));
    EXPECT_TRUE(contains(refused("@every 99999999999999999999d"), "above 36500 days"));
    EXPECT_TRUE(contains(refused("@every 36501d"), "above 36500 days"));
}

TEST(CronTest, an_unknown_time_zone_is_named) {
    for (const char* zone : {"Mars/Olympus", "", "../etc/passwd", "europe/london"}) {
        const Error error = error_of([&] { next("@daily", "2026-01-01 00:00", 1, zone); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(contains(error.what(), std::string("time zone '") + zone + "'"));
    }
}

TEST(CronTest, a_local_time_that_is_skipped_fires_once_when_the_gap_ends) {
    // New York: 2026-03-08, 2:00 becomes 3:00, which is 7:00 UTC.
    EXPECT_EQ(
        next("30 2 * * *", "2026-03-07 00:00", 3, "America/New_York"),
        "2026-03-07 07:30, 2026-03-08 07:00, 2026-03-09 06:30"
    );
    EXPECT_EQ(
        next("*/20 2 * * *", "2026-03-07 08:00", 2, "America/New_York"),
        "2026-03-08 07:00, 2026-03-09 06:00"
    ) << "several skipped ones: once";
    EXPECT_EQ(
        next("*/30 * * * *", "2026-03-08 06:15", 3, "America/New_York"),
        "2026-03-08 06:30, 2026-03-08 07:00, 2026-03-08 07:30"
    ) << "what is due at the end of the gap is the same fire time";
    // London: 2026-03-29, 1:00 becomes 2:00, which is 1:00 UTC.
    EXPECT_EQ(
        next("15 1 * * *", "2026-03-28 00:00", 3, "Europe/London"),
        "2026-03-28 01:15, 2026-03-29 01:00, 2026-03-30 00:15"
    );
}

TEST(CronTest, a_local_time_that_is_repeated_fires_once_the_first_time) {
    // New York: 2026-11-01, 1:00 to 2:00 occurs twice, from 5:00 UTC and from 6:00 UTC.
    EXPECT_EQ(
        next("30 1 * * *", "2026-10-31 00:00", 3, "America/New_York"),
        "2026-10-31 05:30, 2026-11-01 05:30, 2026-11-02 06:30"
    );
    EXPECT_EQ(
        next("*/30 * * * *", "2026-11-01 05:15", 3, "America/New_York"),
        "2026-11-01 05:30, 2026-11-01 07:00, 2026-11-01 07:30"
    );
    EXPECT_EQ(next("30 1 * * *", "2026-11-01 06:10", 1, "America/New_York"), "2026-11-02 06:30")
        << "asked for in the second of the two hours";
    // London: 2026-10-25, 1:00 to 2:00 occurs twice, from 0:00 UTC and from 1:00 UTC.
    EXPECT_EQ(
        next("15 1 * * *", "2026-10-24 00:00", 3, "Europe/London"),
        "2026-10-24 00:15, 2026-10-25 00:15, 2026-10-26 01:15"
    );
}

TEST(CronTest, a_place_without_summer_time_fires_every_day_at_the_same_instant) {
    const auto times =
        next_fire_times("30 2 * * *", "Asia/Kolkata", time_of("2026-01-01 00:00"), 365);
    for (std::size_t i = 1; i < times.size(); ++i) ASSERT_EQ(times[i] - times[i - 1], 24h);
    EXPECT_EQ(text_of(times.front()), "2026-01-01 21:00");
}

TEST(CronTest, a_day_that_a_place_skips_fires_when_it_is_over) {
    EXPECT_EQ(
        next("0 12 * * *", "2011-12-29 00:00", 3, "Pacific/Apia"),
        "2011-12-29 22:00, 2011-12-30 10:00, 2011-12-30 22:00"
    ) << "Samoa went over the date line: no 30th of December there";
}

TEST(CronTest, a_daily_schedule_fires_once_a_day_through_all_changes_of_the_year) {
    for (const char* zone : {"America/New_York", "Europe/London", "Australia/Lord_Howe"}) {
        for (const char* cron : {"30 1 * * *", "15 2 * * *", "0 3 * * *"}) {
            const auto times = next_fire_times(cron, zone, time_of("2026-01-01 12:00"), 365);
            for (std::size_t i = 1; i < times.size(); ++i) {
                const auto day = times[i] - times[i - 1];
                ASSERT_TRUE(day >= 22h && day <= 26h) << zone << " " << text_of(times[i]);
            }
        }
    }
}

TEST(CronTest, a_year_of_a_minutely_schedule_is_walked_through_without_gaps) {
    const auto times =
        next_fire_times("* * * * *", "Asia/Kolkata", time_of("2026-01-01 00:00"), 365 * 24 * 60);
    EXPECT_EQ(times.size(), 525'600U);
    EXPECT_EQ(text_of(times.back()), "2027-01-01 00:00");
    const auto with_changes = next_fire_times(
        "* * * * *", "America/New_York", time_of("2026-01-01 00:00"), 365 * 24 * 60 - 60
    );
    EXPECT_EQ(text_of(with_changes.back()), "2027-01-01 00:00") << "an hour is shown twice";
}

TEST(CronTest, next_fire_times_checks_how_many_are_wanted) {
    EXPECT_TRUE(next_fire_times("@daily", "UTC", Timestamp{}, 0).empty());
    EXPECT_THROW((void)next_fire_times("@daily", "UTC", Timestamp{}, -1), Error);
    EXPECT_TRUE(next_fire_times("@daily", "UTC", Timestamp::max(), 3).empty());
    EXPECT_FALSE(next_fire_times("@daily", "UTC", Timestamp::min(), 1).empty());
}

}  // namespace
}  // namespace pawl::test
