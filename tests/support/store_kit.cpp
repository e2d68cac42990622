#include "support/store_kit.h"

#include <stdexcept>

#include "support/sql_kit.h"

namespace pawl::test {

const StoreTraits& traits_of(BackendKind kind) {
#ifdef PAWL_WITH_POSTGRES
    if (kind == BackendKind::postgres) return postgres_traits();
#endif
#ifdef PAWL_WITH_SQLITE
    if (kind != BackendKind::postgres) return sqlite_traits();
#endif
    throw std::logic_error("this backend is not built");
}

std::vector<BackendKind> backends_with(bool StoreTraits::*trait) {
    auto kinds = built_backends();
    std::erase_if(kinds, [&](BackendKind kind) { return !(traits_of(kind).*trait); });
    return kinds;
}

std::unique_ptr<StoreKit> make_kit(const Place& place) {
#ifdef PAWL_WITH_POSTGRES
    if (place.kind() == BackendKind::postgres) return make_postgres_kit(place);
#endif
#ifdef PAWL_WITH_SQLITE
    if (place.kind() != BackendKind::postgres) return make_sqlite_kit(place);
#endif
    throw std::logic_error("this backend is not built");
}

}  // namespace pawl::test
