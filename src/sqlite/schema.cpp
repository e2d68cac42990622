#include "sqlite/schema.h"

#include <chrono>
#include <fmt/format.h>

#include "generated/sqlite_migrations.h"
#include "generated/sqlite_sql.h"

namespace pawl::sqlite {

namespace {

Error too_new_error(const std::string& file, int version) {
    return {
        ErrorCode::schema_too_new,
        fmt::format(
            "'{}' has schema version {}, this program knows {}: it was written by a newer pawl, "
            "upgrade this program",
            file,
            version,
            newest_version()
        )};
}

bool table_exists(Session& session, std::string_view name) {
    Rows rows = session.query(sql::table_exists, name);
    return rows.next() && rows.flag(0);
}

}  // namespace

int newest_version() {
    return sql::migrations.back().version;
}

int installed_version(Session& session) {
    {
        Rows exists = session.query(sql::schema_exists);
        if (!exists.next() || !exists.flag(0)) return 0;
    }
    Rows rows = session.query(sql::schema_version);
    return rows.next() ? rows.number(0) : 0;
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
            "'{}' has schema version {}, this program needs {}: call install() (or run: pawl "
            "install)",
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
    // Only when something was made: otherwise a damaged schema would become the one to compare
    // with.
    session.execute(sql::clear_manifest);
    session.execute(sql::write_manifest);
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
            "the schema has version {}, this program knows {}", report.version, newest_version()
        ));
    }
    if (!table_exists(session, "pawl_schema_manifest")) {
        report.problems.emplace_back("table pawl_schema_manifest is missing");
    } else {
        Rows rows = session.query(sql::manifest_problems);
        while (rows.next()) {
            report.problems.push_back(
                fmt::format("{} {} is {}", rows.text(0), rows.text(1), rows.text(2))
            );
        }
    }
    if (table_exists(session, "pawl_clock") && fixed_time(session))
        report.problems.emplace_back("the clock is replaced by a test clock");
    return report;
}

std::optional<Timestamp> fixed_time(Session& session) {
    Rows rows = session.query(sql::fixed_clock);
    if (!rows.next()) return std::nullopt;
    return rows.time(0);
}

Timestamp current_time(Session& session) {
    if (const auto fixed = fixed_time(session)) return *fixed;
    return std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
}

}  // namespace pawl::sqlite
