#include "model/cron.h"

#include <algorithm>
#include <bit>

namespace pawl::model {

namespace {

using base::LocalMinutes;
using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::months;
using std::chrono::year;
using std::chrono::year_month;
using std::chrono::year_month_day;

// Even a 29 February on a Sunday occurs within 40 years (2100 is not a leap year).
constexpr std::chrono::years longest_wait(50);
constexpr Timestamp first_time{std::chrono::sys_days(year(1) / 1 / 1)};
constexpr Timestamp last_time{std::chrono::sys_days(year(9999) / 1 / 1)};

bool has(std::uint64_t set, unsigned value) {
    return ((set >> value) & 1U) != 0;
}

// The smallest number in the set that is not below `from`; 64 if it does not exist.
unsigned at_least(std::uint64_t set, unsigned from) {
    if (from > 63) return 64;
    return static_cast<unsigned>(std::countr_zero(set >> from << from));
}

}  // namespace

bool Cron::day_matches(year_month_day date) const {
    const bool by_day = has(days_, static_cast<unsigned>(date.day()));
    const std::chrono::weekday weekday{local_days(date)};
    const bool by_weekday = has(weekdays_, weekday.c_encoding());
    return either_day_ ? by_day || by_weekday : by_day && by_weekday;
}

// Searches from the month down to the minute and skips whole months and days that do not match.
std::optional<LocalMinutes> Cron::match(LocalMinutes from) const {
    const auto first_day = std::chrono::floor<days>(from);
    const year_month_day first(first_day);
    const year last = first.year() + longest_wait;
    year_month month = first.year() / first.month();
    unsigned day = static_cast<unsigned>(first.day());
    minutes time = from - first_day;  // applies to the first day only
    for (; month.year() <= last; month += months(1), day = 1, time = minutes(0)) {
        if (!has(months_, static_cast<unsigned>(month.month()))) continue;
        const auto length = static_cast<unsigned>((month / std::chrono::last).day());
        for (; day <= length; ++day, time = minutes(0)) {
            const year_month_day date = month / std::chrono::day(day);
            if (!day_matches(date)) continue;
            unsigned hour = static_cast<unsigned>(time / hours(1));
            unsigned minute = at_least(minutes_, static_cast<unsigned>((time % hours(1)).count()));
            if (!has(hours_, hour) || minute > 59) {
                hour = at_least(hours_, has(hours_, hour) ? hour + 1 : hour);
                minute = at_least(minutes_, 0);
            }
            if (hour < 24) return local_days(date) + hours(hour) + minutes(minute);
        }
    }
    return std::nullopt;
}

std::optional<Timestamp> Cron::next_interval(Timestamp after, Timestamp origin) const {
    const std::chrono::microseconds every(every_);
    const auto since = after - origin;
    auto count = since / every;
    // Rounds down, also before the origin.
    if (since % every < std::chrono::microseconds(0)) --count;
    return origin + every * (count + 1);
}

std::optional<Timestamp> Cron::next(Timestamp after, base::WallClock& clock, Timestamp origin)
    const {
    if (after >= last_time) return std::nullopt;
    after = std::max(after, first_time);
    if (every_ > Duration(0)) return next_interval(after, origin);
    // Local times that the clock repeats map to instants that have passed: skip them.
    LocalMinutes local = clock.local(after);
    while (true) {
        const auto found = match(local + minutes(1));
        if (!found) return std::nullopt;
        const Timestamp instant = clock.instant(*found);
        if (instant > after) return instant;
        local = *found;
    }
}

}  // namespace pawl::model
