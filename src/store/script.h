// Scripts of SQL for people: pawl install --sql.
#pragma once

#include <pawl/install_script.h>
#include <string>
#include <string_view>

#include "store/statement.h"

namespace pawl::store {

// `text` with every {name} replaced by `value`.
[[nodiscard]] std::string replaced(std::string text, std::string_view name, std::string_view value);

// Throws invalid_argument for a version that is not between 0 and the newest.
void check_from_version(int from_version, int newest);

}  // namespace pawl::store
