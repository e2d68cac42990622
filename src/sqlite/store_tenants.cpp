// Tenants are files next to each other: app.db, and app.tenant_a.db for tenant_a.
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>

#include "model/check.h"
#include "sqlite/schema.h"
#include "sqlite/sqlite_store.h"

namespace pawl::sqlite {

namespace {

namespace fs = std::filesystem;

// The name of the file itself as a tenant, equal to the default schema on PostgreSQL.
constexpr std::string_view own_name = "pawl";

bool is_tenant_name(const std::string& name) {
    try {
        model::check_schema_name(name);
        return true;
    } catch (const Error&) {
        return false;
    }
}

// The tenant of a file next to `base`; none for any other file.
std::optional<std::string> tenant_in(const fs::path& base, const fs::path& file) {
    const std::string found = file.filename().string();
    if (found == base.filename().string()) return std::string(own_name);
    const std::string before = base.stem().string() + ".";
    const std::string after = base.extension().string();
    if (found.size() <= before.size() + after.size() || !found.starts_with(before) ||
        !found.ends_with(after))
        return std::nullopt;
    std::string name = found.substr(before.size(), found.size() - before.size() - after.size());
    if (name == own_name || !is_tenant_name(name)) return std::nullopt;
    return name;
}

// Opened read-only, so that a file that is not a store is not changed.
int version_in(const fs::path& file) {
    sqlite3* opened = nullptr;
    const int code =
        sqlite3_open_v2(file.c_str(), &opened, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
    const ConnectionHandle handle(opened);
    if (code != SQLITE_OK) throw Error(ErrorCode::connection_failed, sqlite3_errstr(code));
    sqlite3_extended_result_codes(opened, 1);
    sqlite3_busy_timeout(opened, 1'000);
    Session session(opened, ErrorContext{file.string(), 1s});
    return installed_version(session);
}

}  // namespace

std::string tenants_base(const SqliteTarget& target) {
    return check_path(target.tenants_of.empty() ? target.path : target.tenants_of);
}

SqliteTarget tenant_target(const SqliteTarget& target, const std::string& name) {
    if (is_memory(target))
        throw Error(
            ErrorCode::invalid_url,
            "sqlite::memory: is one store and has no tenants: use a file, as in "
            "sqlite:app.db?schema=" +
                name
        );
    SqliteTarget other = target;
    other.tenants_of = tenants_base(target);
    const fs::path base = other.tenants_of;
    const fs::path file = base.stem().string() + "." + name + base.extension().string();
    other.path = name == own_name ? base.string() : (base.parent_path() / file).string();
    return other;
}

std::vector<Tenant> SqliteStore::tenants() {
    std::vector<Tenant> tenants;
    if (connections_.in_memory()) {
        const auto connection = connections_.reader();
        const int version = installed_version(connection.session());
        if (version > 0) tenants.push_back({std::string(own_name), version});
        return tenants;
    }
    const fs::path base = tenants_of_;
    for (const fs::directory_entry& entry : fs::directory_iterator(base.parent_path())) {
        const auto name = tenant_in(base, entry.path());
        std::error_code ignored;
        if (!name || !entry.is_regular_file(ignored)) continue;
        try {
            const int version = version_in(entry.path());
            if (version > 0) tenants.push_back({*name, version});
        } catch (const Error& error) {
            log().info(fmt::format(
                "skipped '{}' in the list of tenants: {}", entry.path().string(), error.what()
            ));
        }
    }
    std::ranges::sort(tenants, {}, &Tenant::name);
    return tenants;
}

StoreInfo SqliteStore::info() const {
    const std::string base = tenants_base(target_);
    const auto tenant = tenant_in(base, target_.path);
    if (!tenant || *tenant == own_name)
        return {"sqlite:" + target_.path, "sqlite", std::string(own_name), options()};
    return {"sqlite:" + base + "?schema=" + *tenant, "sqlite", *tenant, options()};
}

std::shared_ptr<seam::Backend> SqliteStore::open_tenant(const std::string& name) {
    SqliteTarget target = target_;
    target.tenants_of = tenants_of_;
    return open_sqlite(tenant_target(target, name), shared_options());
}

}  // namespace pawl::sqlite
