// Passwords must not reach error messages.
#pragma once

#include <string>
#include <vector>

namespace pawl::cli {

/// `text` without the passwords of URLs among `words`: a URL may have been given as an argument by
/// mistake.
[[nodiscard]] std::string without_passwords(
    std::string text, const std::vector<std::string>& words
);

}  // namespace pawl::cli
