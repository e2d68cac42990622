// A JSON value given on the command line.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <string>

namespace pawl::cli {

/// "-" reads standard input to its end; a missing argument is null. Throws Error(invalid_payload).
[[nodiscard]] Json json_input(const std::optional<std::string>& argument);

}  // namespace pawl::cli
