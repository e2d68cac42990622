// "Did you mean": the known name that is most similar to a mistyped one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pawl::model {

// The candidate with the smallest edit distance, ignoring case; nullopt if a third or more of the
// name would have to change.
[[nodiscard]] std::optional<std::string> most_similar(
    std::string_view name, std::span<const std::string> candidates
);

}  // namespace pawl::model
