// "Did you mean": the name that a user most probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pawl::model {

// The candidate with the fewest insertions, deletions and replacements; none if a third or more of
// the name would have to change. Letters count the same in both cases.
[[nodiscard]] std::optional<std::string> most_similar(
    std::string_view name, std::span<const std::string> candidates
);

}  // namespace pawl::model
