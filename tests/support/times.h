// Times as tests write them, in UTC: "2026-03-08 07:00", with seconds and a fraction if they are
// not 0.
#pragma once

#include <cstdio>
#include <fmt/format.h>
#include <pawl/types.h>
#include <string>

namespace pawl::test {

inline Timestamp time_of(const std::string& text) {
    int year = 0;
    unsigned month = 1;
    unsigned day = 1;
    int hour = 0;
    int minute = 0;
    int second = 0;
    (void
    )std::sscanf(text.c_str(), "%d-%u-%u %d:%d:%d", &year, &month, &day, &hour, &minute, &second);
    return std::chrono::sys_days(
               std::chrono::year(year) / std::chrono::month(month) / std::chrono::day(day)
           ) +
           std::chrono::hours(hour) + std::chrono::minutes(minute) + std::chrono::seconds(second);
}

inline std::string text_of(Timestamp time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    std::string text = fmt::format(
        "{}-{:02}-{:02} {:02}:{:02}",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        clock.hours().count(),
        clock.minutes().count()
    );
    const bool fraction = clock.subseconds().count() != 0;
    if (clock.seconds().count() != 0 || fraction)
        text += fmt::format(":{:02}", clock.seconds().count());
    if (fraction) text += fmt::format(".{:06}", clock.subseconds().count());
    return text;
}

}  // namespace pawl::test
