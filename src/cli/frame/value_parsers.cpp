#include "cli/frame/value_parsers.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <initializer_list>
#include <limits>
#include <system_error>
#include <utility>

#include "cli/frame/literals.h"

namespace pawl::cli {

namespace {

constexpr std::array units{
    std::pair<std::string_view, Duration>{"ms", 1ms},
    std::pair<std::string_view, Duration>{"s", 1s},
    std::pair<std::string_view, Duration>{"m", 1min},
    std::pair<std::string_view, Duration>{"h", 1h},
    std::pair<std::string_view, Duration>{"d", 24h},
};

constexpr Duration longest_distance = 24h * 365 * 100;  // between now and a relative time

std::string_view to_string(ColorMode mode) {
    if (mode == ColorMode::automatic) return "auto";
    return mode == ColorMode::always ? "always" : "never";
}

template <class Number>
Number whole_number(const std::string& text) {
    Number number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || rest != end)
        throw std::invalid_argument(
            fmt::format("'{}' is not a whole number (or is too large)", text)
        );
    return number;
}

bool same_letters(std::string_view one, std::string_view other) {
    return std::ranges::equal(one, other, [](unsigned char a, unsigned char b) {
        return std::toupper(a) == std::toupper(b);
    });
}

template <class Word>
Word one_of(const std::string& text, std::initializer_list<Word> words) {
    for (const auto word : words) {
        if (same_letters(to_string(word), text)) return word;
    }
    auto known = type_name(Word{});
    for (auto at = known.find('|'); at != std::string::npos; at = known.find('|'))
        known.replace(at, 1, ", ");
    throw std::invalid_argument(fmt::format("'{}' is not one of {}", text, known));
}

// Reads RFC 3339 from left to right; every failure is the same sentence.
class TimeReader {
public:
    explicit TimeReader(std::string_view text) : text_(text), rest_(text) {}

    int digits(std::size_t count) {
        if (rest_.size() < count) fail();
        int number = 0;
        for (const char c : rest_.substr(0, count)) {
            if (c < '0' || c > '9') fail();
            number = number * 10 + (c - '0');
        }
        rest_.remove_prefix(count);
        return number;
    }
    char one_of(std::string_view characters) {
        if (rest_.empty() || characters.find(rest_.front()) == std::string_view::npos) fail();
        const char found = rest_.front();
        rest_.remove_prefix(1);
        return found;
    }
    std::chrono::microseconds fraction() {
        if (!rest_.starts_with('.')) return 0us;
        rest_.remove_prefix(1);
        std::chrono::microseconds total{digits(1) * 100'000};
        for (int scale = 10'000; !rest_.empty() && rest_[0] >= '0' && rest_[0] <= '9'; scale /= 10)
            total += std::chrono::microseconds{digits(1) * scale};
        return total;
    }
    std::chrono::minutes offset() {
        const char sign = one_of("Zz+-");
        if (sign == 'Z' || sign == 'z') return 0min;
        const int hours = below(24);
        one_of(":");
        const std::chrono::minutes offset{hours * 60 + below(60)};
        return sign == '+' ? offset : -offset;
    }
    int below(int limit) {
        const int number = digits(2);
        if (number >= limit) fail();
        return number;
    }
    void end() const {
        if (!rest_.empty()) fail();
    }
    [[noreturn]] void fail() const {
        throw std::invalid_argument(
            fmt::format("'{}' is not a time like 2026-01-31T12:00:00Z, 1h or now", text_)
        );
    }

private:
    std::string_view text_;
    std::string_view rest_;
};

}  // namespace

void parse_value(const std::string& text, std::string& value) {
    value = text;
}
void parse_value(const std::string& text, int& value) {
    value = whole_number<int>(text);
}
void parse_value(const std::string& text, std::int64_t& value) {
    value = whole_number<std::int64_t>(text);
}

void parse_value(const std::string& text, Duration& value) {
    const auto unit_at = text.find_first_not_of("0123456789");
    for (const auto& [name, unit] : units) {
        if (unit_at == 0 || unit_at == std::string::npos || text.substr(unit_at) != name) continue;
        const auto number = whole_number<std::int64_t>(text.substr(0, unit_at));
        if (number > std::numeric_limits<std::int64_t>::max() / unit.count()) break;
        value = number * unit;
        return;
    }
    throw std::invalid_argument(
        fmt::format("'{}' is not a duration like 500ms, 10s, 5m, 2h, 1d", text)
    );
}

void parse_value(const std::string& text, Timestamp& value) {
    TimeReader reader(text);
    const std::chrono::year year(reader.digits(4));
    reader.one_of("-");
    const std::chrono::month month(static_cast<unsigned>(reader.digits(2)));
    reader.one_of("-");
    const std::chrono::day day(static_cast<unsigned>(reader.digits(2)));
    if (!(year / month / day).ok()) reader.fail();
    reader.one_of("Tt ");
    const std::chrono::hours hours(reader.below(24));
    reader.one_of(":");
    const std::chrono::minutes minutes(reader.below(60));
    reader.one_of(":");
    const std::chrono::seconds seconds(reader.below(60));
    const auto fraction = reader.fraction();
    const auto offset = reader.offset();
    reader.end();
    value =
        std::chrono::sys_days(year / month / day) + hours + minutes + seconds + fraction - offset;
}

Timestamp parse_time(const std::string& text, Bare bare, Timestamp now) {
    if (text == "now") return now;
    const bool has_sign = text.starts_with('+') || text.starts_with('-');
    const bool before = has_sign ? text.starts_with('-') : bare == Bare::ago;
    const std::string length = has_sign ? text.substr(1) : text;
    if (std::ranges::any_of(units, [&](const auto& unit) {
            return length.ends_with(unit.first);
        })) {
        Duration duration{};
        parse_value(length, duration);
        if (duration > longest_distance)
            throw std::invalid_argument(fmt::format("'{}' is too far away from now", text));
        return before ? now - duration : now + duration;
    }
    Timestamp time;
    parse_value(text, time);
    return time;
}

void parse_value(const std::string& text, MessageState& value) {
    using enum MessageState;
    value = one_of(text, {ready, waiting, leased});
}
void parse_value(const std::string& text, RunStatus& value) {
    using enum RunStatus;
    value = one_of(text, {queued, running, paused, success, error, cancelled});
}
void parse_value(const std::string& text, AuditLevel& value) {
    using enum AuditLevel;
    value = one_of(text, {off, exceptions, all});
}
void parse_value(const std::string& text, WhenUnmet& value) {
    using enum WhenUnmet;
    value = one_of(text, {skip, skip_cascade, fail});
}
void parse_value(const std::string& text, WhenExhausted& value) {
    using enum WhenExhausted;
    value = one_of(text, {fail, skip, skip_cascade});
}
void parse_value(const std::string& text, Json& value) {
    value = Json(text);
}
void parse_value(const std::string& text, Overlap& value) {
    using enum Overlap;
    value = one_of(text, {allow, skip, queue_one});
}
void parse_value(const std::string& text, CatchUp& value) {
    using enum CatchUp;
    value = one_of(text, {none, last, all});
}
void parse_value(const std::string& text, PublishLevel& value) {
    using enum PublishLevel;
    value = one_of(text, {off, alerts, ends});
}
void parse_value(const std::string& text, OutboxStatus& value) {
    using enum OutboxStatus;
    value = one_of(text, {pending, published, parked});
}
void parse_value(const std::string& text, RetentionKind& value) {
    using enum RetentionKind;
    value =
        one_of(text, {success, failed, events, archive, dead_letters, outbox, deleted, workers});
}
void parse_value(const std::string& text, ColorMode& value) {
    using enum ColorMode;
    value = one_of(text, {automatic, always, never});
}

std::string rfc3339_seconds(Timestamp time) {
    const auto days = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(days);
    const std::chrono::hh_mm_ss clock(std::chrono::floor<std::chrono::seconds>(time - days));
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        clock.hours().count(),
        clock.minutes().count(),
        clock.seconds().count()
    );
}

std::string rfc3339(Timestamp time) {
    auto text = rfc3339_seconds(time);
    const auto fraction = time - std::chrono::floor<std::chrono::seconds>(time);
    text.insert(text.size() - 1, fmt::format(".{:06}", fraction.count()));
    return text;
}

std::string counted(std::int64_t number, std::string_view noun) {
    return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

std::string short_duration(Duration duration) {
    if (duration < 0ms) return "-" + short_duration(-duration);
    if (duration < 1s) return fmt::format("{}ms", duration.count());
    if (duration < 1min && duration % 1s != 0ms)
        return fmt::format("{:.1f}s", std::chrono::duration<double>(duration).count());
    std::string text;
    for (std::size_t i = units.size() - 1; i > 0; --i) {
        const auto& [name, unit] = units[i];
        if (duration < unit) {
            if (!text.empty()) break;
            continue;
        }
        const bool second = !text.empty();
        text += fmt::format("{}{}", duration / unit, name);
        if (second) break;
        duration %= unit;
    }
    return text;
}

}  // namespace pawl::cli
