#include "cli/output/table.h"

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/frame/context.h"

namespace pawl::cli {

namespace {

bool starts_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

std::size_t width_of(std::string_view text) {
    return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string cut(std::string line, std::size_t max_width) {
    if (max_width == 0 || width_of(line) <= max_width) return line;
    std::size_t at = 0;
    for (std::size_t characters = 0; at < line.size(); ++at) {
        if (starts_character(line[at]) && ++characters == max_width) break;
    }
    return line.substr(0, at) + "…";
}

std::string padded(const std::string& cell, std::size_t width, Align align) {
    const std::string space(width - std::min(width, width_of(cell)), ' ');
    return align == Align::right ? space + cell : cell + space;
}

std::string without_trailing_space(std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    return line;
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

void Table::add(std::vector<std::string> cells) {
    for (auto& cell : cells) cell = printable(std::move(cell));
    cells.resize(columns_.size());
    rows_.push_back(std::move(cells));
}

std::string Table::text(std::size_t max_width) const {
    std::vector<std::string> titles;
    std::vector<std::size_t> widths;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
        titles.push_back(columns_[i].title);
        widths.push_back(width_of(columns_[i].title));
        for (const auto& row : rows_) widths[i] = std::max(widths[i], width_of(row[i]));
    }
    std::string text;
    const auto add_line = [&](const std::vector<std::string>& cells) {
        std::string line;
        for (std::size_t i = 0; i < cells.size(); ++i) {
            if (i > 0) line += "  ";
            line += padded(cells[i], widths[i], columns_[i].align);
        }
        text += cut(without_trailing_space(std::move(line)), max_width) + '\n';
    };
    add_line(titles);
    for (const auto& row : rows_) add_line(row);
    return text;
}

std::size_t terminal_width() {
    winsize size{};
    if (!is_terminal(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    return size.ws_col;
}

}  // namespace pawl::cli
