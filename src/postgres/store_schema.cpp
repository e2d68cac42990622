// install(), verify(), the version check, and the test clock.
#include <fmt/format.h>
#include <map>

#include "generated/postgres_migrations.h"
#include "generated/postgres_sql.h"
#include "postgres/postgres_store.h"

namespace pawl::postgres {

namespace {

constexpr int library_version = static_cast<int>(sql::migrations.size());

// FNV-1a: tells whether the functions in the database are this library's.
std::string functions_checksum() {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const auto file : sql::functions) {
        for (const char c : file) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
    return fmt::format("{:016x}", hash);
}

struct InstalledVersion {
    int version = 0;
    std::string functions;
};

InstalledVersion installed_version(Connection& connection, const std::string& schema) {
    Params table;
    table.text(fmt::format("\"{}\".schema_version", schema));
    if (!connection.run(sql::schema_exists, table, Access::read).boolean(0, 0)) return {};
    const Rows rows = connection.run(sql::schema_version, {}, Access::read);
    if (rows.empty()) return {};
    return {rows.int4(0, 0), rows.string(0, 1)};
}

[[noreturn]] void refuse_newer(const std::string& schema, int version) {
    throw Error(
        ErrorCode::schema_too_new,
        fmt::format(
            "schema '{}' has version {}, this program knows up to {}: upgrade the program",
            schema,
            version,
            library_version
        )
    );
}

using Catalogue = std::map<std::pair<std::string, std::string>, std::string>;

Catalogue read_catalogue(const Rows& rows) {
    Catalogue catalogue;
    for (int i = 0; i < rows.size(); ++i)
        catalogue[{rows.string(i, 0), rows.string(i, 1)}] = rows.string(i, 2);
    return catalogue;
}

// Rolls back what an exception leaves open.
class ScriptTransaction {
public:
    explicit ScriptTransaction(Connection& connection) : connection_(connection) {
        connection_.run_script("begin", "begin");
    }
    ~ScriptTransaction() {
        if (done_ || connection_.broken()) return;
        try {
            connection_.run_script("rollback", "rollback");
        } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the server rolls back
                                           // itself
        }
    }
    void commit() {
        connection_.run_script("commit", "commit");
        done_ = true;
    }
    ScriptTransaction(const ScriptTransaction&) = delete;
    ScriptTransaction& operator=(const ScriptTransaction&) = delete;

private:
    Connection& connection_;
    bool done_ = false;
};

}  // namespace

Pool::Lent PostgresStore::checked(Pool& pool, std::optional<Duration> call_timeout) {
    auto connection = pool.lend(call_timeout);
    if (!connection->schema_checked) {
        translated([&] { check_schema(*connection); });
        connection->schema_checked = true;
    }
    return connection;
}

void PostgresStore::check_schema(Connection& connection) {
    const int version = installed_version(connection, target_.schema).version;
    if (version > library_version) refuse_newer(target_.schema, version);
    if (version == library_version) return;
    throw Error(
        version == 0 ? ErrorCode::not_installed : ErrorCode::schema_too_old,
        version == 0
            ? fmt::format(
                  "there is no pawl schema '{}' in the database: call install() (or run: pawl "
                  "install)",
                  target_.schema
              )
            : fmt::format(
                  "schema '{}' has version {}, this program needs {}: call install() (or run: pawl "
                  "install)",
                  target_.schema,
                  version,
                  library_version
              )
    );
}

void PostgresStore::install() {
    const auto connection = pool_.lend();
    translated([&] {
        ScriptTransaction transaction(*connection);
        // Several processes install at once: one works, the others wait and find it done.
        Params key;
        key.text("pawl:install:" + target_.schema);
        connection->run(sql::install_lock, key, Access::write);
        const auto installed = installed_version(*connection, target_.schema);
        if (installed.version > library_version) refuse_newer(target_.schema, installed.version);
        if (installed.version < library_version || installed.functions != functions_checksum())
            apply_migrations(*connection, installed.version);
        transaction.commit();
    });
}

void PostgresStore::apply_migrations(Connection& connection, int version) {
    connection.run_script(
        connection.expand("create schema if not exists {schema}"), "create schema"
    );
    const auto run = [&](std::string_view script, std::string_view name) {
        connection.run_script(connection.expand(script), name);
    };
    for (const auto& migration : sql::migrations) {
        if (migration.version > version) run(migration.text, migration.name);
    }
    for (const auto file : sql::functions) run(file, "functions");
    for (const auto& migration : sql::migrations) {
        if (migration.version <= version) continue;
        Params params;
        params.int4(migration.version).text(migration.name).text(functions_checksum());
        connection.run(sql::record_version, params, Access::write);
    }
    Params checksum;
    checksum.text(functions_checksum());
    connection.run(sql::record_functions, checksum, Access::write);
    record_manifest(connection);
}

void PostgresStore::record_manifest(Connection& connection) {
    Params schema;
    schema.text(target_.schema);
    const auto catalogue = read_catalogue(connection.run(sql::catalogue, schema, Access::read));
    std::vector<std::string> kinds;
    std::vector<std::string> names;
    std::vector<std::string> definitions;
    for (const auto& [key, definition] : catalogue) {
        kinds.push_back(key.first);
        names.push_back(key.second);
        definitions.push_back(definition);
    }
    Params params;
    params.text_array(kinds).text_array(names).text_array(definitions);
    connection.run(sql::clear_manifest, {}, Access::write);
    connection.run(sql::record_manifest, params, Access::write);
}

SchemaReport PostgresStore::verify() {
    const auto connection = pool_.lend();
    try {
        return compare_with_manifest(*connection);
    } catch (const Refused& refused) {  // what verify() itself needs is missing
        return {library_version, {to_error(refused.error, target_.schema).what()}};
    }
}

SchemaReport PostgresStore::compare_with_manifest(Connection& connection) {
    SchemaReport report;
    try {
        check_schema(connection);
    } catch (const Error& error) {
        if (error.retryable()) throw;
        report.problems.emplace_back(error.what());
        report.version = installed_version(connection, target_.schema).version;
        return report;
    }
    report.version = library_version;
    Params schema;
    schema.text(target_.schema);
    const auto found = read_catalogue(connection.run(sql::catalogue, schema, Access::read));
    const auto expected = read_catalogue(connection.run(sql::manifest, {}, Access::read));
    for (const auto& [key, definition] : expected) {
        const auto at = found.find(key);
        if (at == found.end()) {
            report.problems.push_back(fmt::format("{} {} is missing", key.first, key.second));
        } else if (at->second != definition) {
            report.problems.push_back(
                key.second == "clock()" ? std::string("the clock is replaced by a test clock")
                                        : fmt::format("{} {} is different", key.first, key.second)
            );
        }
    }
    return report;
}

bool PostgresStore::has_test_clock() {
    Params name;
    name.text(target_.schema);
    const Rows rows =
        translated([&] { return pool_.lend()->run(sql::clock_is_real, name, Access::read); });
    return !rows.empty() && !rows.boolean(0, 0);
}

void PostgresStore::set_test_clock(std::optional<Timestamp> now) {
    const bool replaced = has_test_clock();
    if (now) {
        Params fixed_at;
        fixed_at.time(*now);
        call(sql::set_clock, fixed_at, Access::write);
        if (!replaced) call(sql::replace_clock, {}, Access::write);
    } else if (replaced) {
        call(sql::restore_clock, {}, Access::write);
        call(sql::clear_clock, {}, Access::write);
    }
    wake_queue({});
}

}  // namespace pawl::postgres
