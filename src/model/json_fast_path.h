// The quick yes of check_json(): most of what programs record is small and plain, and a parser
// costs more to set up than such a text to read.
#pragma once

#include <string_view>

namespace pawl::model {

// True: it is JSON, and nothing that check_json() would refuse. False says nothing: strings with
// escapes or beyond ASCII, numbers with exponents or many digits, and deep nesting are the
// parser's.
[[nodiscard]] bool is_plain_json(std::string_view text);

}  // namespace pawl::model
