// "did you mean" for mistyped words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// The known word that needs the fewest changes; empty if all need too many.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// `text` without the passwords of URLs among `words`: a URL may have been given as an argument by
/// mistake.
[[nodiscard]] std::string without_passwords(
    std::string text, const std::vector<std::string>& words
);

}  // namespace pawl::cli
