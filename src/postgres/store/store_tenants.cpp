// Tenants are schemas of the same database.
#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "postgres/store/postgres_store.h"
#include "store/url.h"

namespace pawl::postgres {

namespace {

// A tenant may be dropped between the look into the catalogue and that into its own table.
constexpr int tenants_tries = 10;

std::vector<Tenant> read_tenants(const Rows& rows) {
    std::vector<Tenant> tenants;
    for (int i = 0; i < rows.size(); ++i)
        tenants.push_back({rows.string(i, 0), rows.is_null(i, 1) ? 0 : rows.int4(i, 1)});
    return tenants;
}

// A list without any of them would say that none is installed.
void refuse_unreadable(const Rows& rows) {
    if (rows.text(0, 0).empty()) return;
    throw Error(
        ErrorCode::database_error,
        fmt::format(
            "role '{}' may read none of the stores in this database ({}): ask their owner for "
            "grant_access",
            rows.text(0, 1),
            rows.text(0, 0)
        )
    );
}

}  // namespace

std::vector<Tenant> PostgresStore::tenants() {
    // Not checked(): ours need not be installed.
    const auto connection = pool_.lend();
    for (int tries = 1;; ++tries) {
        try {
            auto found = read_tenants(translated([&] {
                return connection->run(sql::tenants, {}, IfAnswerLost::repeat);
            }));
            if (found.empty())
                refuse_unreadable(translated([&] {
                    return connection->run(sql::unreadable_tenants, {}, IfAnswerLost::repeat);
                }));
            return found;
        } catch (const Error& error) {
            if (error.code() != ErrorCode::not_installed || tries == tenants_tries) throw;
        }
    }
}

StoreInfo PostgresStore::info() const {
    StoreInfo info{store::redacted(target_.url), "postgresql", target_.schema, options()};
    if (target_.schema != PostgresTarget().schema) {
        info.url += info.url.find('?') == std::string::npos ? '?' : '&';
        info.url += "schema=" + target_.schema;
    }
    return info;
}

std::shared_ptr<seam::Backend> PostgresStore::open_tenant(const std::string& name) {
    PostgresTarget target = target_;
    target.schema = name;
    return open_postgres(std::move(target), shared_options());
}

}  // namespace pawl::postgres
