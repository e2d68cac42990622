#include "seam/unsupported.h"

#include <fmt/format.h>
#include <pawl/error.h>

namespace pawl::seam {

void unsupported(std::string_view part) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("this store does not support {}: use SQLite or PostgreSQL for it", part)
    );
}

}  // namespace pawl::seam
