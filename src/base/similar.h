// "Did you mean": the known name that is most similar to a mistyped one. Only this header, so that
// the command line can use it too: it links the library, which exports nothing but the public API.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::base {

// The number of letters to insert, remove or replace; two letters in the wrong order count as one
// change. Ignores case.
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    const auto lower = [](char letter) {
        return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
    };
    const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
    std::vector<std::size_t> before_last(b.size() + 1);
    std::vector<std::size_t> last(b.size() + 1);
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        before_last.swap(last);
        last.swap(row);
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            row[j + 1] = std::min({last[j] + (same(i, j) ? 0 : 1), last[j + 1] + 1, row[j] + 1});
            if (i > 0 && j > 0 && same(i, j - 1) && same(i - 1, j))
                row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
        }
    }
    return row.back();
}

// The candidate with the smallest edit distance; nullopt if more than a third of the name (at least
// one letter) would have to change.
[[nodiscard]] inline std::optional<std::string> most_similar(
    std::string_view name, std::span<const std::string> candidates
) {
    std::optional<std::string> best;
    std::size_t least = std::max<std::size_t>(name.size(), 3) / 3 + 1;
    for (const std::string& candidate : candidates) {
        const std::size_t distance = edit_distance(name, candidate);
        if (distance >= least) continue;
        least = distance;
        best = candidate;
    }
    return best;
}

}  // namespace pawl::base
