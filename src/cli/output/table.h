// Aligned columns for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
};

class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell per column. Control characters become spaces: a payload must not drive the
    /// terminal.
    void add(std::vector<std::string> cells);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Title line and rows, each ending in a line end, no line wider than max_width (0: no limit).
    [[nodiscard]] std::string text(std::size_t max_width) const;

private:
    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// The width of the terminal on standard output, 0 when it is none.
[[nodiscard]] std::size_t terminal_width();
/// Control characters replaced by spaces.
[[nodiscard]] std::string printable(std::string text);

}  // namespace pawl::cli
