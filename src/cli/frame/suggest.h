// "did you mean": the known word that is nearest to a mistyped one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// Empty if none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& known);

/// `text` without the passwords of URLs among `words`: one may be given in the wrong place.
[[nodiscard]] std::string without_passwords(
    std::string text, const std::vector<std::string>& words
);

}  // namespace pawl::cli
