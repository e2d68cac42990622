// Tenants are schemas of the same database.
#include <fmt/format.h>

#include "generated/postgres_sql.h"
#include "postgres/store/postgres_store.h"
#include "store/url.h"

namespace pawl::postgres {

namespace {

// A tenant may be dropped between the read of the catalogue and the read of its table.
constexpr int tenants_tries = 10;

std::vector<Tenant> read_tenants(const Rows& rows) {
    using Row = sql::row::Tenants;
    std::vector<Tenant> tenants;
    tenants.reserve(static_cast<std::size_t>(rows.size()));
    for (int i = 0; i < rows.size(); ++i)
        tenants.push_back(
            {rows.string(i, Row::tenant),
             rows.is_null(i, Row::version) ? 0 : rows.int4(i, Row::version)}
        );
    return tenants;
}

// An empty list would mean that no store is installed.
void refuse_unreadable(const Rows& rows) {
    using Row = sql::row::UnreadableTenants;
    const std::string_view unreadable = rows.text(0, Row::tenants);
    if (unreadable.empty()) return;
    throw Error(
        ErrorCode::database_error,
        fmt::format(
            "role '{}' may read none of the stores in this database ({}): ask their owner for "
            "grant_access",
            rows.text(0, Row::role),
            unreadable
        )
    );
}

}  // namespace

std::vector<Tenant> PostgresStore::tenants() {
    // Not checked(): the schema of this store need not be installed.
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
