// Fast path of check_json(): most values are small and plain, and setting up a parser costs more
// than reading such a text.
#pragma once

#include <string_view>

namespace pawl::model {

// True if the text is valid JSON that check_json() accepts. False means unknown: strings with
// escapes or non-ASCII characters, numbers with exponents or many digits, and deep nesting need the
// parser.
[[nodiscard]] bool is_plain_json(std::string_view text);

}  // namespace pawl::model
