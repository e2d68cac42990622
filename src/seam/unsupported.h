// A part of the seam that a store does not implement.
#pragma once

#include <string_view>

namespace pawl::seam {

// Throws unsupported: the store has no `part`, such as "flows" or "the outbox".
[[noreturn]] void unsupported(std::string_view part);

}  // namespace pawl::seam
