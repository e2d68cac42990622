// Aligned columns for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/output/view.h"

namespace pawl::cli {

enum class Align { left, right };

struct Column {
    std::string title;
    Align align = Align::left;
    int order = 0;             ///< if lines are too long: 1 is left out first; 0 is never left out
    std::size_t shortest = 0;  ///< the width to which its cells may be cut; 0 means never
    bool is_status = false;    ///< its words have colors

    /// May be left out if lines are too long, after those with a smaller number.
    [[nodiscard]] Column left_out(int number) const;
    /// Its cells may be cut to this width.
    [[nodiscard]] Column cut_to(std::size_t width) const;
    /// Its cells are statuses.
    [[nodiscard]] Column status() const;
};

class Table {
public:
    explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

    /// One cell per column. Control characters become spaces, so that a payload cannot control the
    /// terminal.
    void add(std::vector<std::string> cells);
    [[nodiscard]] bool empty() const { return rows_.empty(); }
    /// Title line and rows, each with a line end. If lines are wider than the view, columns are
    /// left out and cells are cut.
    [[nodiscard]] std::string text(const View& view) const;

private:
    class Layout;

    std::vector<Column> columns_;
    std::vector<std::vector<std::string>> rows_;
};

/// Control characters replaced by spaces.
[[nodiscard]] std::string printable(std::string text);
/// At most `width` characters; "…" at the end of a text that was longer.
[[nodiscard]] std::string cut(std::string text, std::size_t width);

}  // namespace pawl::cli
