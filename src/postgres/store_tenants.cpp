// Tenants are schemas of the same database.
#include "generated/postgres_sql.h"
#include "postgres/postgres_store.h"

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

}  // namespace

std::vector<Tenant> PostgresStore::tenants() {
    // Not checked(): ours need not be installed.
    const auto connection = pool_.lend();
    for (int tries = 1;; ++tries) {
        try {
            return read_tenants(translated([&] {
                return connection->run(sql::tenants, {}, Access::read);
            }));
        } catch (const Error& error) {
            if (error.code() != ErrorCode::not_installed || tries == tenants_tries) throw;
        }
    }
}

std::shared_ptr<store::Backend> PostgresStore::open_tenant(const std::string& name) {
    PostgresTarget target = target_;
    target.schema = name;
    return open_postgres(std::move(target), shared_options());
}

}  // namespace pawl::postgres
