#include "cli/output/view.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <string>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

#include "cli/frame/context.h"
#include "cli/frame/literals.h"
#include "cli/frame/value_parsers.h"
#include "cli/output/table.h"

namespace pawl::cli {

namespace {

constexpr std::size_t usual_width = 80;
constexpr std::size_t narrow_width = 110;
constexpr std::size_t longest_value = 1000;  // characters, unless --full is given

constexpr std::string_view red = "\x1b[31m";
constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view yellow = "\x1b[33m";
constexpr std::string_view cyan = "\x1b[36m";
constexpr std::string_view dim = "\x1b[2m";

using WordColor = std::pair<std::string_view, std::string_view>;
constexpr std::array colors_of_words{
    WordColor{"SUCCESS", green},
    WordColor{"PUBLISHED", green},
    WordColor{"ERROR", red},
    WordColor{"PARKED", red},
    WordColor{"dead", red},
    WordColor{"PAUSED", yellow},
    WordColor{"paused", yellow},
    WordColor{"SUSPENDED", yellow},
    WordColor{"RUNNING", cyan},
    WordColor{"leased", cyan},
    WordColor{"CANCELLED", dim},
    WordColor{"SKIPPED", dim},
    WordColor{"STOPPED", dim},
};

std::string local_time(Timestamp time, std::string_view fraction) {
    const auto whole = std::chrono::floor<std::chrono::seconds>(time);
    const std::time_t seconds = whole.time_since_epoch().count();
    std::tm parts{};
    if (localtime_r(&seconds, &parts) == nullptr) return rfc3339_seconds(time);
    const long offset = parts.tm_gmtoff / 60;
    return fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}{}{}{:02}:{:02}",
        parts.tm_year + 1900,
        parts.tm_mon + 1,
        parts.tm_mday,
        parts.tm_hour,
        parts.tm_min,
        parts.tm_sec,
        fraction,
        offset < 0 ? '-' : '+',
        std::labs(offset) / 60,
        std::labs(offset) % 60
    );
}

std::optional<std::size_t> width_of_environment() {
    const char* columns = std::getenv("COLUMNS");
    if (columns == nullptr) return std::nullopt;
    const std::string_view text(columns);
    std::size_t width = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), width);
    if (error != std::errc() || rest != text.data() + text.size() || width == 0)
        return std::nullopt;
    return width;
}

// Pipes and files get whole lines, unless COLUMNS sets a limit.
std::size_t output_width() {
    if (const auto width = width_of_environment()) return *width;
    if (!is_terminal(STDOUT_FILENO)) return 0;
    winsize size{};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return usual_width;
    return size.ws_col;
}

bool wants_colors(ColorMode mode) {
    if (mode != ColorMode::automatic) return mode == ColorMode::always;
    const char* no_color = std::getenv("NO_COLOR");
    if (no_color != nullptr && *no_color != '\0') return false;
    const char* terminal = std::getenv("TERM");
    const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
    return is_terminal(STDOUT_FILENO) && !dumb;
}

}  // namespace

View make_view(const ViewOptions& options) {
    return {output_width(), options.full, wants_colors(options.color), options.times};
}

std::string View::time(Timestamp time) const {
    if (times != TimeStyle::local) return rfc3339(time);
    const auto fraction = time - std::chrono::floor<std::chrono::seconds>(time);
    return local_time(time, fmt::format(".{:06}", fraction.count()));
}

// 2026-11-18T08:20:29.123456Z
std::string View::short_time(Timestamp at) const {
    const std::string whole = time(at);
    if (width == 0 || width >= narrow_width || full) return whole;
    return whole.substr(5, 5) + " " + whole.substr(11, 12);
}

std::string View::seconds(Timestamp time) const {
    return times == TimeStyle::local ? local_time(time, "") : rfc3339_seconds(time);
}

std::string View::seconds_or_dash(const std::optional<Timestamp>& time) const {
    return time ? seconds(*time) : "-";
}

std::string View::age(Timestamp time, Timestamp now) const {
    if (times != TimeStyle::automatic) return seconds(time);
    const auto age = std::max(std::chrono::floor<std::chrono::seconds>(now - time), 0s);
    if (age < 1min) return fmt::format("{}s ago", age / 1s);
    if (age < 1h) return fmt::format("{}m ago", age / 1min);
    return age < 48h ? fmt::format("{}h ago", age / 1h) : fmt::format("{}d ago", age / 24h);
}

std::string View::value(const std::string& text) const {
    if (full || text.size() <= longest_value) return text;
    return fmt::format("{} ({} bytes; --full shows all)", cut(text, longest_value), text.size());
}

std::string View::status(std::string_view word) const {
    const auto color = color_of(word);
    if (!colors || color.empty()) return std::string(word);
    return fmt::format("{}{}{}", color, word, end_of_color);
}

std::string View::bold(const std::string& text) const {
    return colors ? fmt::format("\x1b[1m{}{}", text, end_of_color) : text;
}

// "RUNNING (lost)" has the color of "lost".
std::string_view color_of(std::string_view status) {
    if (status.find("(lost)") != std::string_view::npos) return red;
    const auto found = std::ranges::find(colors_of_words, status, &WordColor::first);
    return found == colors_of_words.end() ? std::string_view() : found->second;
}

}  // namespace pawl::cli
