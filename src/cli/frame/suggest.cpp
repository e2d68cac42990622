#include "cli/frame/suggest.h"

#include <algorithm>
#include <numeric>

namespace pawl::cli {

namespace {

// Levenshtein distance; two letters in the wrong order count as one change.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(
        a.size() + 1, std::vector<std::size_t>(b.size() + 1)
    );
    std::iota(cost[0].begin(), cost[0].end(), 0U);
    for (std::size_t i = 1; i <= a.size(); ++i) {
        cost[i][0] = i;
        for (std::size_t k = 1; k <= b.size(); ++k) {
            const std::size_t changed = a[i - 1] == b[k - 1] ? 0 : 1;
            cost[i][k] =
                std::min({cost[i - 1][k] + 1, cost[i][k - 1] + 1, cost[i - 1][k - 1] + changed});
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                cost[i][k] = std::min(cost[i][k], cost[i - 2][k - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

void replace_all(std::string& text, const std::string& part, const std::string& by) {
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + by.size()))
        text.replace(at, part.size(), by);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
    std::string best;
    std::size_t least = word.size() / 3 + 2;  // with more changes it is another word
    for (const std::string& candidate : known) {
        const std::size_t changes = distance(word, candidate);
        if (changes >= least) continue;
        least = changes;
        best = candidate;
    }
    return best;
}

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
