#include "cli/output/table.h"

#include <algorithm>
#include <numeric>
#include <optional>

namespace pawl::cli {

namespace {

constexpr std::size_t gap = 2;              // between two columns
constexpr std::size_t longest_cell = 1000;  // without a limit of the line, unless --full is given
constexpr std::size_t shortest_text = 8;  // of columns that are cut only because nothing else helps

bool starts_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
    const std::string space(width - std::min(width, width_of(cell)), ' ');
    return align == Align::right ? space + cell : cell + space;
}

}  // namespace

std::string printable(std::string text) {
    std::replace_if(
        text.begin(),
        text.end(),
        [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; },
        ' '
    );
    return text;
}

std::string cut(std::string text, std::size_t width) {
    if (width_of(text) <= width) return text;
    std::size_t at = 0;
    for (std::size_t characters = 0; at < text.size(); ++at) {
        if (starts_character(text[at]) && ++characters == width) break;
    }
    return text.substr(0, at) + "…";
}

Column Column::left_out(int number) const {
    Column changed = *this;
    changed.order = number;
    return changed;
}

Column Column::cut_to(std::size_t width) const {
    Column changed = *this;
    changed.shortest = width;
    return changed;
}

Column Column::status() const {
    Column changed = *this;
    changed.is_status = true;
    return changed;
}

// Which columns a table shows, and how wide each of them is.
class Table::Layout {
public:
    Layout(const Table& table, const View& view) : table_(table) {
        const std::size_t limit =
            view.full ? std::string::npos : std::max(view.width, longest_cell);
        for (const auto& column : table.columns_) {
            const auto i = widths_.size();
            std::size_t width = width_of(column.title);
            for (const auto& row : table.rows_) width = std::max(width, width_of(row[i]));
            widths_.push_back(std::max(width_of(column.title), std::min(width, limit)));
            shown_.push_back(i);
        }
        if (!view.full && view.width > 0) fit(view.width);
    }
    [[nodiscard]] const std::vector<std::size_t>& shown() const { return shown_; }
    [[nodiscard]] std::size_t width(std::size_t column) const { return widths_[column]; }

private:
    void fit(std::size_t limit) {
        while (shortest_line() > limit) {
            const auto next = next_to_leave_out();
            if (!next) break;
            std::erase(shown_, *next);
        }
        shrink(limit, [](const Column& column) { return column.shortest; });
        shrink(limit, [](const Column& column) {
            return column.align == Align::left ? shortest_text : 0;
        });
    }

    [[nodiscard]] std::size_t shortest_line() const {
        std::size_t sum = gaps();
        for (const auto i : shown_) {
            const auto shortest = table_.columns_[i].shortest;
            sum += shortest == 0 ? widths_[i] : std::min(widths_[i], shortest);
        }
        return sum;
    }
    [[nodiscard]] std::size_t line() const {
        return std::accumulate(
            shown_.begin(),
            shown_.end(),
            gaps(),
            [&](std::size_t sum, std::size_t i) { return sum + widths_[i]; }
        );
    }
    [[nodiscard]] std::size_t gaps() const {
        return shown_.empty() ? 0 : (shown_.size() - 1) * gap;
    }

    // Columns without a value first, then in their order.
    [[nodiscard]] std::optional<std::size_t> next_to_leave_out() const {
        std::optional<std::size_t> next;
        const auto rank = [&](std::size_t i) {
            const int order = table_.columns_[i].order;
            return has_values(i) ? order : order - 1000;
        };
        for (const auto i : shown_) {
            if (table_.columns_[i].order == 0) continue;
            if (!next || rank(i) < rank(*next)) next = i;
        }
        return next;
    }
    [[nodiscard]] bool has_values(std::size_t i) const {
        return std::ranges::any_of(table_.rows_, [i](const auto& row) {
            return row[i] != "-" && !row[i].empty();
        });
    }

    // Takes from the widest column that may be cut, one character at a time.
    template <class Shortest>
    void shrink(std::size_t limit, Shortest shortest) {
        for (std::size_t excess = line() - std::min(line(), limit); excess > 0; --excess) {
            std::optional<std::size_t> widest;
            for (const auto i : shown_) {
                const std::size_t least = shortest(table_.columns_[i]);
                if (least == 0 || widths_[i] <= least) continue;
                if (!widest || widths_[i] > widths_[*widest]) widest = i;
            }
            if (!widest) return;
            --widths_[*widest];
        }
    }

    const Table& table_;
    std::vector<std::size_t> widths_;
    std::vector<std::size_t> shown_;
};

void Table::add(std::vector<std::string> cells) {
    for (auto& cell : cells) cell = printable(std::move(cell));
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

std::string Table::text(const View& view) const {
    const Layout layout(*this, view);
    std::string text;
    enum class Line { titles, cells };
    const auto add_line = [&](Line kind, const auto& cell_of) {
        std::string line;
        std::string space;  // added before the next cell, so that no line ends with spaces
        for (const auto i : layout.shown()) {
            const auto& column = columns_[i];
            const auto cell =
                padded(cut(cell_of(i), layout.width(i)), layout.width(i), column.align);
            const auto begin = std::min(cell.find_first_not_of(' '), cell.size());
            const auto end = cell.find_last_not_of(' ') + 1;
            const auto word = begin < end ? cell.substr(begin, end - begin) : std::string();
            space += cell.substr(0, begin);
            if (!word.empty()) {
                line += space;
                if (kind == Line::titles) {
                    line += view.bold(word);
                } else {
                    line += column.is_status ? view.status(word) : word;
                }
                space.clear();
            }
            if (begin < cell.size()) space += cell.substr(end);
            space += std::string(gap, ' ');
        }
        text += line + '\n';
    };
    add_line(Line::titles, [&](std::size_t i) { return columns_[i].title; });
    for (const auto& row : rows_) add_line(Line::cells, [&](std::size_t i) { return row[i]; });
    return text;
}

}  // namespace pawl::cli
