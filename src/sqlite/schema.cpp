#include "sqlite/schema.h"

#include <fmt/format.h>

#include "generated/sqlite_migrations.h"
#include "generated/sqlite_sql.h"
#include "sqlite/transaction.h"

namespace pawl::sqlite {

namespace {

Error too_new_error(const std::string& file, int version) {
    return {
        ErrorCode::schema_too_new,
        fmt::format(
            "'{}' has schema version {}, this program knows up to {}: upgrade the program",
            file,
            version,
            newest_version()
        )};
}

bool table_exists(Session& session, std::string_view name) {
    Rows rows = session.query(sql::table_exists, name);
    return rows.next() && rows.flag(0);
}

store::Catalogue read_catalogue(Session& session) {
    store::Catalogue catalogue;
    Rows rows = session.query(sql::catalogue);
    using Row = store::row::Catalogue;
    const auto text = [&](int column) { return std::string(rows.text(column)); };
    while (rows.next()) {
        catalogue[{text(Row::kind), text(Row::name)}] = {
            text(Row::table_name), text(Row::definition), text(Row::restore)};
    }
    return catalogue;
}

// Applies all migrations to a separate database.
store::Catalogue build_expected() {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open_v2(
        ":memory:",
        &opened,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
        nullptr
    );
    const ConnectionHandle handle(opened);
    if (code != SQLITE_OK) throw Error(ErrorCode::connection_failed, sqlite3_errstr(code));
    Session session(opened, ErrorContext{":memory:", {}});
    for (const store::Migration& migration : sql::migrations)
        session.run_script(migration.name, migration.text);
    return read_catalogue(session);
}

const store::Catalogue& expected_catalogue() {
    static const store::Catalogue expected = build_expected();
    return expected;
}

}  // namespace

int newest_version() {
    return sql::migrations.back().version;
}

void require_schema(Session& session) {
    const std::string& file = session.context().file;
    const int version = installed_version(session);
    if (version == newest_version()) return;
    if (version == 0) throw not_installed_error(file);
    if (version > newest_version()) throw too_new_error(file, version);
    throw Error(
        ErrorCode::schema_too_old,
        fmt::format(
            "'{}' has schema version {}, this program needs {}; upgrade it with store.install()",
            file,
            version,
            newest_version()
        )
    );
}

void apply_migrations(Session& session) {
    const int version = installed_version(session);
    if (version > newest_version()) throw too_new_error(session.context().file, version);
    if (version == newest_version()) return;
    for (const store::Migration& migration : sql::migrations) {
        if (migration.version <= version) continue;
        session.run_script(migration.name, migration.text);
        session.execute(
            sql::record_migration, migration.version, migration.name, current_time(session)
        );
    }
}

std::vector<store::Difference> schema_differences(Session& session) {
    return store::compare(read_catalogue(session), expected_catalogue());
}

void repair_schema(Session& session, InstallReport& report) {
    for (const auto& difference : schema_differences(session)) {
        const InstallAction action = store::planned_action(difference);
        if (action == InstallAction::keep) continue;
        const std::string found = store::describe(difference);
        if (action == InstallAction::by_hand) {
            report.problems.push_back(
                fmt::format("{}: cannot be restored: {}", found, store::why_by_hand(difference))
            );
            continue;
        }
        try {
            Savepoint savepoint(session);
            session.run_script("restore", difference.expected.restore);
            savepoint.release();
            report.repaired.push_back(found + ": restored");
        } catch (const Error& error) {
            if (error.code() != ErrorCode::database_error) throw;
            report.problems.push_back(fmt::format("{}: cannot be restored: {}", found, error.what())
            );
        }
    }
}

SchemaReport not_installed_report(const std::string& file) {
    const std::string problem = not_installed_error(file).what();
    return {0, {store::version_finding(file, 0, newest_version(), problem)}};
}

SchemaReport inspect_schema(Session& session) {
    SchemaReport report;
    report.version = installed_version(session);
    if (report.version == 0) return not_installed_report(session.context().file);
    if (report.version != newest_version()) {
        report.findings.push_back(store::version_finding(
            session.context().file,
            report.version,
            newest_version(),
            fmt::format(
                "the schema has version {}, this program needs {}", report.version, newest_version()
            )
        ));
        return report;
    }
    for (const auto& difference : schema_differences(session))
        report.findings.push_back(store::to_finding(difference));
    if (table_exists(session, "pawl_clock") && fixed_time(session))
        report.findings.push_back(
            {"clock", "pawl_clock", "the clock is replaced by a test clock", InstallAction::keep}
        );
    return report;
}

}  // namespace pawl::sqlite
