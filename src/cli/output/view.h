// How text for people is laid out: its width, its colors, and how times are written.
#pragma once

#include <cstddef>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>

namespace pawl::cli {

enum class ColorMode { automatic, always, never };

/// automatic: UTC, and ages in lists.
enum class TimeStyle { automatic, utc, local };

/// What the options of the command line ask for.
struct ViewOptions {
    bool full = false;
    ColorMode color = ColorMode::automatic;
    TimeStyle times = TimeStyle::automatic;
};

struct View {
    std::size_t width = 0;  ///< of a line; 0 means no limit
    bool full = false;      ///< every column, and values of any length
    bool colors = false;
    TimeStyle times = TimeStyle::automatic;

    /// With microseconds.
    [[nodiscard]] std::string time(Timestamp time) const;
    /// Without the year and with milliseconds if lines are narrow: "11-18 08:20:29.123".
    [[nodiscard]] std::string short_time(Timestamp time) const;
    /// Without a fraction.
    [[nodiscard]] std::string seconds(Timestamp time) const;
    [[nodiscard]] std::string seconds_or_dash(const std::optional<Timestamp>& time) const;
    /// For a column of a list: "5m ago", or the time if --utc or --local was given.
    [[nodiscard]] std::string age(Timestamp time, Timestamp now) const;
    /// A long value, cut to a few lines, with a remark about its size.
    [[nodiscard]] std::string value(const std::string& text) const;
    /// `word`, a status, in its color.
    [[nodiscard]] std::string status(std::string_view word) const;
    [[nodiscard]] std::string bold(const std::string& text) const;
};

/// The view for standard output. The width is that of COLUMNS, or of the terminal.
[[nodiscard]] View make_view(const ViewOptions& options);

/// The escape sequence of a status word's color; empty if it has none.
[[nodiscard]] std::string_view color_of(std::string_view status);
inline constexpr std::string_view end_of_color = "\x1b[0m";

}  // namespace pawl::cli
