#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <pawl/error.h>
#include <span>
#include <utility>
#include <vector>

#include "base/literals.h"
#include "model/cron.h"

namespace pawl::model {

namespace {

constexpr std::size_t longest_text = 256;

constexpr std::array<std::string_view, 12> month_names{
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"};
constexpr std::array<std::string_view, 7> weekday_names{
    "sun", "mon", "tue", "wed", "thu", "fri", "sat"};

struct Field {
    std::string_view name;
    unsigned low;
    unsigned high;
    std::span<const std::string_view> names = {};  // names[0] is the name of `low`
};
constexpr std::array<Field, 5> fields{{
    {"minute", 0, 59},
    {"hour", 0, 23},
    {"day", 1, 31},
    {"month", 1, 12, month_names},
    {"weekday", 0, 7, weekday_names},
}};

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> macros{{
    {"@hourly", "0 * * * *"},
    {"@daily", "0 0 * * *"},
    {"@midnight", "0 0 * * *"},
    {"@weekly", "0 0 * * 0"},
    {"@monthly", "0 0 1 * *"},
    {"@yearly", "0 0 1 1 *"},
    {"@annually", "0 0 1 1 *"},
}};

constexpr std::array<std::pair<std::string_view, Duration>, 5> units{{
    {"ms", 1ms},
    {"s", 1s},
    {"m", 1min},
    {"h", 1h},
    {"d", 24h},
}};
constexpr Duration shortest_interval = 1s;
constexpr Duration longest_interval = std::chrono::hours(24 * 36'500);

bool is_space(char c) {
    return c == ' ' || c == '\t';
}

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (true) {
        const auto* const begin = std::find_if_not(text.begin(), text.end(), is_space);
        const auto* const end = std::find_if(begin, text.end(), is_space);
        if (begin == end) return words;
        words.emplace_back(begin, end);
        text = {end, text.end()};
    }
}

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) {
        return static_cast<char>(std::tolower(c));
    });
    return result;
}

// Removes the text up to the first `separator`, and the separator, from `rest`; returns that text.
std::string_view take_until(std::string_view& rest, char separator) {
    const auto at = rest.find(separator);
    const std::string_view part = rest.substr(0, at);
    rest = at == std::string_view::npos ? std::string_view() : rest.substr(at + 1);
    return part;
}

}  // namespace

class CronParser {
public:
    explicit CronParser(std::string_view text) : text_(text) {}

    Cron parse() {
        if (text_.size() > longest_text) refuse("it is too long");
        const auto words = words_of(text_);
        if (!words.empty() && words.front() == "@every") {
            read_interval(words);
            return cron_;
        }
        if (words.size() == 1 && words.front().starts_with('@')) {
            read_fields(words_of(fields_of(words.front())));
        } else {
            read_fields(words);
        }
        base::WallClock utc("UTC");
        if (!cron_.next(Timestamp{}, utc)) refuse("it never fires: no month has such a day");
        return cron_;
    }

private:
    [[noreturn]] void refuse(std::string_view why) const {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format("cron '{}': {}", text_.substr(0, longest_text), why)
        );
    }
    [[noreturn]] void refuse_field(std::string_view why) const {
        refuse(fmt::format("field {} ({}): {}", place_ + 1, field().name, why));
    }
    [[nodiscard]] const Field& field() const { return fields[place_]; }

    [[nodiscard]] std::string_view fields_of(std::string_view macro) const {
        for (const auto& [name, meaning] : macros) {
            if (name == macro) return meaning;
        }
        refuse(
            "unknown nickname; use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, "
            "@annually "
            "or @every"
        );
    }

    void read_interval(const std::vector<std::string_view>& words) {
        if (words.size() != 2) refuse("@every takes one interval, such as 90s");
        const std::string_view text = words[1];
        const auto unit_at = std::min(text.find_first_not_of("0123456789"), text.size());
        std::int64_t count = 0;
        const auto read = std::from_chars(text.data(), text.data() + unit_at, count);
        const std::string_view unit = text.substr(unit_at);
        for (const auto& [name, length] : units) {
            if (name != unit || unit_at == 0) continue;
            if (read.ec != std::errc() || count > longest_interval / length)
                refuse("the interval is above 36500 days");
            cron_.every_ = count * length;
            if (cron_.every_ < shortest_interval) refuse("the interval is below one second");
            return;
        }
        refuse(fmt::format("'{}' is not an interval; use 500ms, 90s, 5m, 2h or 1d", text));
    }

    void read_fields(const std::vector<std::string_view>& words) {
        if (words.size() != fields.size())
            refuse(fmt::format(
                "it has {} fields, but 5 are needed: minute hour day month weekday", words.size()
            ));
        std::array<std::uint64_t, fields.size()> sets{};
        for (place_ = 0; place_ < fields.size(); ++place_) sets[place_] = read_list(words[place_]);
        cron_.minutes_ = sets[0];
        cron_.hours_ = sets[1];
        cron_.days_ = sets[2];
        cron_.months_ = sets[3];
        cron_.weekdays_ = (sets[4] | sets[4] >> 7U) & 0x7fU;  // 7 is Sunday too
        cron_.either_day_ = !words[2].starts_with('*') && !words[4].starts_with('*');
    }

    std::uint64_t read_list(std::string_view text) {
        std::uint64_t set = 0;
        if (text.ends_with(',')) refuse_field("an empty part after ','");
        while (!text.empty()) set |= read_part(take_until(text, ','));
        return set;
    }

    std::uint64_t read_part(std::string_view part) {
        if (part.empty()) refuse_field("an empty part before ','");
        std::string_view step = part;
        const std::string_view range = take_until(step, '/');
        const bool stepped = range.size() < part.size();
        unsigned low = field().low;
        unsigned high = field().names.data() == weekday_names.data() ? 6 : field().high;
        if (range != "*") {
            std::string_view end = range;
            const std::string_view begin = take_until(end, '-');
            low = read_value(begin);
            if (begin.size() < range.size()) {
                high = read_range_end(end, low);
            } else if (!stepped) {
                high = low;
            }
            if (high < low) refuse_field(fmt::format("the range '{}' goes backwards", range));
        }
        const unsigned by = stepped ? read_step(step) : 1;
        std::uint64_t set = 0;
        for (unsigned value = low; value <= high; value += by) set |= std::uint64_t{1} << value;
        return set;
    }

    // A week may also end with Sunday: "fri-sun".
    unsigned read_range_end(std::string_view text, unsigned low) {
        const unsigned value = read_value(text);
        return value == 0 && low > 0 && field().high == 7 ? 7 : value;
    }

    unsigned read_step(std::string_view text) {
        const unsigned step = read_number(text);
        if (step == 0) refuse_field("a step must be above 0");
        if (step > field().high) refuse_field(fmt::format("a step of {} is too long", step));
        return step;
    }

    unsigned read_value(std::string_view text) {
        const auto& names = field().names;
        const auto* const named = std::find(names.data(), names.data() + names.size(), lower(text));
        if (named != names.data() + names.size())
            return field().low + static_cast<unsigned>(named - names.data());
        const unsigned value = read_number(text);
        if (value < field().low) refuse_field(fmt::format("{} is below {}", value, field().low));
        if (value > field().high) refuse_field(fmt::format("{} is above {}", value, field().high));
        return value;
    }

    [[nodiscard]] unsigned read_number(std::string_view text) const {
        unsigned value = 0;
        const char* const end = text.data() + text.size();
        const auto [rest, error] = std::from_chars(text.data(), end, value);
        if (text.empty()) refuse_field("a number is missing");
        if (error != std::errc() || rest != end)
            refuse_field(fmt::format("'{}' is not a valid value", text));
        return value;
    }

    std::string_view text_;
    std::size_t place_ = 0;  // index of the field being read
    Cron cron_;
};

Cron Cron::parse(std::string_view text) {
    return CronParser(text).parse();
}

}  // namespace pawl::model
