// The script that install() would run, for psql.
#include <fmt/format.h>
#include <pawl/version.h>

#include "generated/postgres_migrations.h"
#include "generated/postgres_sql.h"
#include "postgres/driver/connection.h"
#include "postgres/open_postgres.h"
#include "postgres/schema/schema_state.h"
#include "store/script.h"

namespace pawl::postgres {

InstallScript install_script(const std::string& schema, int from_version) {
    store::check_from_version(from_version, library_version());
    std::string text = fmt::format(
        "-- pawl {}: schema \"{}\", from version {} to {}. Run it with psql as the owner of the\n"
        "-- schema, then grant access to other roles (docs/sql.md, grant_access).\n"
        "\\set ON_ERROR_STOP on\n",
        PAWL_VERSION,
        schema,
        from_version,
        library_version()
    );
    const auto add = [&](std::string_view part) { text.append(part).append("\n"); };
    const auto from = std::to_string(from_version);
    add(store::replaced(std::string(sql::script_begin.text), "from_version", from));
    for (const auto& migration : sql::migrations) {
        if (migration.version > from_version) add(migration.text);
    }
    for (const auto file : sql::functions) add(file);
    for (const auto& migration : sql::migrations) {
        if (migration.version <= from_version) continue;
        std::string record(sql::script_record_version.text);
        record = store::replaced(std::move(record), "version", std::to_string(migration.version));
        record = store::replaced(std::move(record), "migration", migration.name);
        add(store::replaced(std::move(record), "functions", functions_checksum()));
    }
    add("commit;");
    return {library_version(), expand(text, schema)};
}

}  // namespace pawl::postgres
