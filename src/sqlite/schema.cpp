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
        if (difference.what == store::Difference::What::unknown) continue;
        const std::string found = store::describe(difference);
        if (difference.expected.restore.empty()) {
            report.problems.push_back(fmt::format(
                "{}: cannot be restored: {}",
                found,
                difference.what == store::Difference::What::missing
                    ? "its data are lost, restore them from a backup (docs/restore.md)"
                    : "change it back by hand"
            ));
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

SchemaReport inspect_schema(Session& session) {
    SchemaReport report;
    report.version = installed_version(session);
    if (report.version == 0) {
        report.problems.emplace_back(not_installed_error(session.context().file).what());
        return report;
    }
    if (report.version != newest_version()) {
        report.problems.push_back(fmt::format(
            "the schema has version {}, this program needs {}", report.version, newest_version()
        ));
        return report;
    }
    for (const auto& difference : schema_differences(session))
        report.problems.push_back(store::describe(difference));
    if (table_exists(session, "pawl_clock") && fixed_time(session))
        report.problems.emplace_back("the clock is replaced by a test clock");
    return report;
}

}  // namespace pawl::sqlite
