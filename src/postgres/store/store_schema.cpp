// install(), verify(), the version check, and the test clock.
#include <fmt/format.h>

#include "generated/postgres_migrations.h"
#include "generated/postgres_sql.h"
#include "postgres/schema/schema_compat.h"
#include "postgres/schema/schema_repair.h"
#include "postgres/schema/schema_state.h"
#include "postgres/store/postgres_store.h"

namespace pawl::postgres {

namespace {

struct InstalledVersion {
    int version = 0;
    std::string functions;
};

InstalledVersion installed_version(Connection& connection, const std::string& schema) {
    Params table;
    table.text(fmt::format("\"{}\".schema_version", schema));
    if (!connection.run(sql::schema_exists, table, IfAnswerLost::repeat).boolean(0, 0)) return {};
    const Rows rows = connection.run(sql::schema_version, {}, IfAnswerLost::repeat);
    if (rows.empty()) return {};
    using Row = sql::row::SchemaVersion;
    return {rows.int4(0, Row::version), rows.string(0, Row::functions)};
}

[[noreturn]] void refuse_newer(const std::string& schema, int version) {
    throw Error(
        ErrorCode::schema_too_new,
        fmt::format(
            "schema '{}' has version {}, this program knows up to {}: upgrade the program",
            schema,
            version,
            library_version()
        )
    );
}

void lock_schema(Connection& connection, const std::string& schema) {
    Params key;
    key.text("pawl:install:" + schema);
    connection.run(sql::safe_search_path, {}, IfAnswerLost::repeat);
    connection.run(sql::install_lock, key, IfAnswerLost::doubt);
}

void refuse_unsafe(Connection& connection, const std::string& schema) {
    const std::string why = unsafe_schema(connection, schema);
    if (!why.empty()) throw Error(ErrorCode::invalid_argument, why);
}

SchemaFinding by_hand(std::string kind, std::string name, std::string problem) {
    return {std::move(kind), std::move(name), std::move(problem), InstallAction::by_hand};
}

void upgrade(Connection& connection, int version) {
    connection.run_script(connection.expand(sql::create_schema.text), sql::create_schema.name);
    apply_scripts(connection, version);
    for (const auto& migration : sql::migrations) {
        if (migration.version <= version) continue;
        Params params;
        params.int4(migration.version).text(migration.name).text(functions_checksum());
        connection.run(sql::record_version, params, IfAnswerLost::doubt);
    }
    Params checksum;
    checksum.text(functions_checksum());
    connection.run(sql::record_functions, checksum, IfAnswerLost::doubt);
}

}  // namespace

Pool::PooledConnection PostgresStore::checked(Pool& pool, std::optional<Duration> call_timeout) {
    auto connection = pool.lend(call_timeout);
    if (!connection->schema_checked) {
        translated([&] { check_schema(*connection); });
        connection->schema_checked = true;
    }
    return connection;
}

void PostgresStore::check_schema(Connection& connection) {
    const int version = installed_version(connection, target_.schema).version;
    if (version > library_version()) refuse_newer(target_.schema, version);
    if (version == library_version()) return;
    throw Error(
        version == 0 ? ErrorCode::not_installed : ErrorCode::schema_too_old,
        version == 0
            ? fmt::format(
                  "there is no pawl schema '{}' in the database; create it with store.install()",
                  target_.schema
              )
            : fmt::format(
                  "schema '{}' has version {}, this program needs {}; upgrade it with "
                  "store.install()",
                  target_.schema,
                  version,
                  library_version()
              )
    );
}

InstallReport PostgresStore::install() {
    const auto connection = pool_.lend();
    return translated([&] {
        InstallReport report;
        SchemaRepair repair(*connection, target_, report);
        ScriptTransaction transaction(*connection);
        // If several processes install at the same time, one does the work; the others wait and
        // find it done.
        lock_schema(*connection, target_.schema);
        const auto installed = installed_version(*connection, target_.schema);
        if (installed.version > library_version()) refuse_newer(target_.schema, installed.version);
        report.from_version = installed.version;
        report.version = library_version();
        const bool fresh =
            installed.version == 0 && found_catalogue(*connection, target_.schema).empty();
        if (installed.version < library_version() || installed.functions != functions_checksum()) {
            refuse_unsafe(*connection, target_.schema);
            upgrade(*connection, installed.version);
        }
        repair.restore(fresh ? SchemaRepair::Schema::fresh : SchemaRepair::Schema::existing);
        if (const auto problem = compat_problem(*connection, target_.schema)) {
            apply_compat(*connection, target_.schema);
            if (const auto left = compat_problem(*connection, target_.schema)) {
                report.problems.push_back(*left + ": cannot be restored: change it back by hand");
            } else {
                report.repaired.push_back(*problem + ": restored");
            }
        }
        transaction.commit();
        repair.restore_indexes();
        return report;
    });
}

void PostgresStore::install_compat(Compat /*compat*/) {
    const auto connection = pool_.lend();
    translated([&] {
        ScriptTransaction transaction(*connection);
        lock_schema(*connection, target_.schema);
        apply_compat(*connection, target_.schema);
        transaction.commit();
    });
}

SchemaReport PostgresStore::verify() {
    const auto connection = pool_.lend();
    try {
        const ScriptTransaction undone(*connection);
        lock_schema(*connection, target_.schema);
        return inspect(*connection);
    } catch (const Refused& refused) {  // something that verify() itself needs is missing
        const std::string problem = to_error(refused.error, target_.schema).what();
        return {library_version(), {by_hand("schema", target_.schema, problem)}};
    }
}

SchemaReport PostgresStore::inspect(Connection& connection) {
    SchemaReport report;
    try {
        check_schema(connection);
    } catch (const Error& error) {
        if (error.retryable()) throw;
        report.version = installed_version(connection, target_.schema).version;
        report.findings.push_back(
            store::version_finding(target_.schema, report.version, library_version(), error.what())
        );
        return report;
    }
    report.version = library_version();
    if (const auto creators = unsafe_creators(connection, target_.schema); !creators.empty())
        report.findings.push_back(by_hand("grant", target_.schema, creators));
    const auto found = found_catalogue(connection, target_.schema);
    std::optional<store::Catalogue> expected;
    bool owner = true;  // only the owner of the schema can repair it
    try {
        expected = expected_catalogue(connection, target_.schema);
    } catch (const Refused& refused) {  // no privilege to create a schema, or a standby server
        expected = recorded_catalogue(connection);
        if (!expected) {
            const std::string problem = fmt::format(
                "schema '{}' cannot be compared: {} (run verify as the owner of the schema)",
                target_.schema,
                refused.error.message
            );
            report.findings.push_back(by_hand("schema", target_.schema, problem));
            return report;
        }
        owner = false;
    }
    for (const auto& difference : store::compare(found, *expected)) {
        auto& finding = report.findings.emplace_back(finding_of(difference));
        if (!owner && finding.action != InstallAction::keep)
            finding.action = InstallAction::by_hand;
    }
    if (const auto problem = compat_problem(connection, target_.schema))
        report.findings.push_back({"schema", "pgflow", *problem, InstallAction::replace});
    return report;
}

std::int64_t PostgresStore::restored() {
    return call(sql::restored, {}, IfAnswerLost::doubt).int8(0, 0);
}

bool PostgresStore::has_test_clock() {
    Params name;
    name.text(target_.schema);
    const Rows rows = translated([&] {
        return pool_.lend()->run(sql::clock_is_real, name, IfAnswerLost::repeat);
    });
    return !rows.empty() && !rows.boolean(0, 0);
}

void PostgresStore::set_test_clock(std::optional<Timestamp> now) {
    const bool replaced = has_test_clock();
    if (now) {
        Params fixed_at;
        fixed_at.time(*now);
        call(sql::set_clock, fixed_at, IfAnswerLost::doubt);
        if (!replaced) call(sql::replace_clock, {}, IfAnswerLost::doubt);
    } else if (replaced) {
        call(sql::restore_clock, {}, IfAnswerLost::doubt);
        call(sql::clear_clock, {}, IfAnswerLost::doubt);
    }
    notify(std::nullopt);
}

}  // namespace pawl::postgres
