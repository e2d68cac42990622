#include "store/script.h"

#include <fmt/format.h>
#include <pawl/error.h>

namespace pawl::store {

std::string replaced(std::string text, std::string_view name, std::string_view value) {
    const std::string placeholder = fmt::format("{{{}}}", name);
    for (auto at = text.find(placeholder); at != std::string::npos;
         at = text.find(placeholder, at + value.size()))
        text.replace(at, placeholder.size(), value);
    return text;
}

void check_from_version(int from_version, int newest) {
    if (from_version >= 0 && from_version < newest) return;
    throw Error(
        ErrorCode::invalid_argument,
        fmt::format(
            "there is no script from schema version {} to {}: use 0 (not installed) to {}",
            from_version,
            newest,
            newest - 1
        )
    );
}

}  // namespace pawl::store
