#include "model/json_elements.h"

namespace pawl::model {

namespace {

constexpr std::string_view blanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// `at` is after the opening quote; returns the position after the closing one.
std::size_t skip_string(std::string_view json, std::size_t at) {
    while (at < json.size() && json[at] != '"') at += json[at] == '\\' ? 2 : 1;
    return at + 1;
}

}  // namespace

std::optional<std::vector<std::string_view>> json_elements(std::string_view json) {
    json = trimmed(json);
    if (json.size() < 2 || json.front() != '[') return std::nullopt;
    const std::string_view inside = trimmed(json.substr(1, json.size() - 2));
    std::vector<std::string_view> elements;
    if (inside.empty()) return elements;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at < inside.size();) {
        const char c = inside[at++];
        if (c == '"') {
            at = skip_string(inside, at);
        } else if (c == '[' || c == '{') {
            ++depth;
        } else if (c == ']' || c == '}') {
            --depth;
        } else if (c == ',' && depth == 0) {
            elements.push_back(trimmed(inside.substr(begin, at - 1 - begin)));
            begin = at;
        }
    }
    elements.push_back(trimmed(inside.substr(begin)));
    return elements;
}

bool is_array(std::string_view json) {
    return trimmed(json).starts_with('[');
}

bool holds_zero_character(std::string_view json) {
    for (std::size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at + 2)) {
        if (json.substr(at, 6) == "\\u0000") return true;
    }
    return false;
}

}  // namespace pawl::model
