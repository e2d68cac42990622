#include "cli/frame/passwords.h"

namespace pawl::cli {

namespace {

void replace_all(std::string& text, const std::string& part, const std::string& by) {
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size()))
        text.replace(at, part.size(), by);
}

}  // namespace

std::string without_passwords(std::string text, const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        const auto host = word.find("://");
        if (host == std::string::npos || word.find('@', host) == std::string::npos) continue;
        const auto begin =
            word.rfind('=', host) == std::string::npos ? 0 : word.rfind('=', host) + 1;
        replace_all(text, word.substr(begin), word.substr(begin, host + 3 - begin) + "***");
    }
    return text;
}

}  // namespace pawl::cli
