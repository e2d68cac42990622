#include "model/http_retry_after.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace pawl::model {

namespace {

using std::chrono::sys_seconds;

constexpr std::chrono::seconds longest = std::chrono::hours(24);
constexpr std::array<std::string_view, 12> http_months{
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<unsigned> number(std::string_view text) {
    unsigned value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || rest != end) return std::nullopt;
    return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the only format that servers may send.
std::optional<sys_seconds> http_date(std::string_view text) {
    if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT" ||
        text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':')
        return std::nullopt;
    const auto month = std::ranges::find(http_months, text.substr(8, 3));
    const auto day = number(text.substr(5, 2));
    const auto year = number(text.substr(12, 4));
    const auto hour = number(text.substr(17, 2));
    const auto minute = number(text.substr(20, 2));
    const auto second = number(text.substr(23, 2));
    if (month == http_months.end() || !day || !year || !hour || !minute || !second)
        return std::nullopt;
    const std::chrono::year_month_day date(
        std::chrono::year(static_cast<int>(*year)),
        std::chrono::month(static_cast<unsigned>(month - http_months.begin()) + 1),
        std::chrono::day(*day)
    );
    if (!date.ok() || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
    return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
           std::chrono::seconds(*second);
}

}  // namespace

std::optional<Duration> retry_after(std::string_view value, sys_seconds now) {
    const auto from = value.find_first_not_of(" \t");
    if (from == std::string_view::npos) return std::nullopt;
    value = value.substr(from, value.find_last_not_of(" \t") - from + 1);
    if (value.size() > 9 && value.find_first_not_of("0123456789") == std::string_view::npos)
        return longest;
    if (const auto seconds = number(value))
        return std::min<std::chrono::seconds>(std::chrono::seconds(*seconds), longest);
    const auto date = http_date(value);
    if (!date) return std::nullopt;
    return std::clamp<std::chrono::seconds>(*date - now, std::chrono::seconds(0), longest);
}

}  // namespace pawl::model
