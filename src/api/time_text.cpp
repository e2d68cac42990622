// The texts of durations and time points in JSON: see pawl/json.h. Everything is computed in 128
// bits, in nanoseconds, so that no step can overflow and every result is exact or refused.
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <pawl/json.h>

namespace pawl::inline v0::detail {

namespace {

namespace chrono = std::chrono;

__extension__ using Wide = __int128;

constexpr std::int64_t second = std::nano::den;

struct Unit {
    std::string_view name;
    std::int64_t period;
};
constexpr std::array units{
    Unit{"ns", 1},
    Unit{"us", 1000},
    Unit{"ms", 1'000'000},
    Unit{"s", second},
    Unit{"m", 60 * second},
    Unit{"h", 3600 * second},
    Unit{"d", 86400 * second},
};

[[noreturn]] void refuse(const std::string& message) {
    throw Error(ErrorCode::serialization_error, message);
}

[[noreturn]] void refuse_inexact(std::string_view text) {
    refuse(fmt::format("'{}' cannot be represented exactly in this type", text));
}

std::int64_t exact(Wide nanoseconds, std::int64_t period, std::string_view text) {
    const Wide count = nanoseconds / period;
    if (count * period != nanoseconds || count > std::numeric_limits<std::int64_t>::max() ||
        count < std::numeric_limits<std::int64_t>::min())
        refuse_inexact(text);
    return static_cast<std::int64_t>(count);
}

// The unit that the period has; else seconds if the period is a multiple of them.
Unit unit_for(std::int64_t period) {
    for (const Unit& unit : units) {
        if (unit.period == period) return unit;
    }
    return period % second == 0 ? Unit{"s", second} : Unit{"ns", 1};
}

// Takes "1500ms" apart.
struct Split {
    std::string_view number;
    std::int64_t period;
};
Split split(std::string_view text) {
    const auto end = text.find_last_of("0123456789.");
    if (end != std::string_view::npos) {
        for (const Unit& unit : units) {
            if (text.substr(end + 1) == unit.name) return {text.substr(0, end + 1), unit.period};
        }
    }
    refuse(fmt::format(
        "'{}' is not a duration such as '1500ms'; the units are ns, us, ms, s, m, h and d", text
    ));
}

template <class Number>
bool parse(std::string_view text, Number& number) {
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && rest == end;
}

[[noreturn]] void refuse_time(std::string_view text) {
    refuse(fmt::format("'{}' is not a UTC time such as '2026-01-31T12:00:00Z'", text));
}

// Reads an RFC 3339 time from left to right.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : text_(text), rest_(text) {}

    [[nodiscard]] bool next_is(char c) const { return !rest_.empty() && rest_.front() == c; }
    void expect(char c) {
        if (!next_is(c)) refuse_time(text_);
        rest_.remove_prefix(1);
    }
    int digits(std::size_t count, int least, int most) {
        int number = 0;
        if (rest_.size() < count || rest_.front() == '-' ||
            !parse(rest_.substr(0, count), number) || number < least || number > most)
            refuse_time(text_);
        rest_.remove_prefix(count);
        return number;
    }
    // ".25": in nanoseconds.
    std::int64_t fraction() {
        if (!next_is('.')) return 0;
        expect('.');
        std::int64_t number = 0;
        std::int64_t weight = second;
        while (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
            weight /= 10;
            if (weight == 0 && rest_.front() != '0') refuse_inexact(text_);
            number += weight * (rest_.front() - '0');
            rest_.remove_prefix(1);
        }
        return number;
    }
    // "Z", "+02:00": in seconds.
    std::int64_t offset() {
        if (next_is('Z')) {
            expect('Z');
            return 0;
        }
        const bool west = next_is('-');
        expect(west ? '-' : '+');
        const int hours = digits(2, 0, 23);
        expect(':');
        const int minutes = digits(2, 0, 59);
        const std::int64_t offset = std::int64_t{60} * (60 * hours + minutes);
        return west ? -offset : offset;
    }
    void end() const {
        if (!rest_.empty()) refuse_time(text_);
    }

private:
    std::string_view text_;
    std::string_view rest_;
};

int digits_for(std::int64_t period) {
    if (period % second == 0) return 0;
    if (period % 1'000'000 == 0) return 3;
    return period % 1000 == 0 ? 6 : 9;
}

}  // namespace

void throw_out_of_range_time() {
    refuse("the time is out of the range of the type");
}

std::string duration_text(std::int64_t count, std::int64_t period) {
    const Unit unit = unit_for(period);
    const auto number = exact(Wide{count} * period, unit.period, "the duration");
    return fmt::format("{}{}", number, unit.name);
}

std::string duration_text(double number, std::int64_t period) {
    const Unit unit = unit_for(period);
    if (unit.period != period || !std::isfinite(number))
        refuse("a duration without a unit, or that is not finite, has no JSON form");
    return fmt::format("{}{}", number, unit.name);
}

std::int64_t duration_count(std::string_view text, std::int64_t period) {
    const Split parts = split(text);
    std::int64_t number = 0;
    if (!parse(parts.number, number)) refuse_inexact(text);
    return exact(Wide{number} * parts.period, period, text);
}

double duration_number(std::string_view text, std::int64_t period) {
    const Split parts = split(text);
    double number = 0;
    if (!parse(parts.number, number)) refuse_inexact(text);
    if (parts.period == period) return number;
    return number * static_cast<double>(parts.period) / static_cast<double>(period);
}

std::string time_text(std::int64_t count, std::int64_t period) {
    const Wide nanoseconds = Wide{count} * period;
    Wide seconds_since = nanoseconds / second;
    if (seconds_since * second > nanoseconds) --seconds_since;  // rounds down before 1970
    constexpr chrono::sys_seconds first = chrono::sys_days(chrono::year(0) / 1 / 1);
    constexpr chrono::sys_seconds end = chrono::sys_days(chrono::year(10000) / 1 / 1);
    if (seconds_since < first.time_since_epoch().count() ||
        seconds_since >= end.time_since_epoch().count())
        refuse("a time outside of the years 0 to 9999 has no JSON form");
    const chrono::sys_seconds time{chrono::seconds(static_cast<std::int64_t>(seconds_since))};
    const auto day = chrono::floor<chrono::days>(time);
    const chrono::year_month_day date(day);
    const chrono::hh_mm_ss clock(time - day);
    std::string text = fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        clock.hours().count(),
        clock.minutes().count(),
        clock.seconds().count()
    );
    if (const int digits = digits_for(period); digits > 0) {
        const auto fraction = static_cast<std::int64_t>(nanoseconds - seconds_since * second);
        text += fmt::format(".{:09}", fraction).substr(0, static_cast<std::size_t>(digits) + 1);
    }
    return text + "Z";
}

std::int64_t time_count(std::string_view text, std::int64_t period) {
    TimeReader reader(text);
    const int y = reader.digits(4, 0, 9999);
    reader.expect('-');
    const int m = reader.digits(2, 1, 12);
    reader.expect('-');
    const int d = reader.digits(2, 1, 31);
    reader.expect('T');
    const int hour = reader.digits(2, 0, 23);
    reader.expect(':');
    const int minute = reader.digits(2, 0, 59);
    reader.expect(':');
    const int s = reader.digits(2, 0, 59);
    const std::int64_t fraction = reader.fraction();
    const std::int64_t offset = reader.offset();
    reader.end();
    const chrono::year_month_day date(
        chrono::year(y),
        chrono::month(static_cast<unsigned>(m)),
        chrono::day(static_cast<unsigned>(d))
    );
    if (!date.ok()) refuse_time(text);
    const chrono::seconds since = chrono::sys_days(date).time_since_epoch() + chrono::hours(hour) +
                                  chrono::minutes(minute) + chrono::seconds(s);
    const Wide whole = Wide{since.count()} - offset;
    return exact(whole * second + fraction, period, text);
}

}  // namespace pawl::inline v0::detail
