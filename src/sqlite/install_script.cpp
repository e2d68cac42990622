// The script that install() would run, for sqlite3.
#include <fmt/format.h>
#include <pawl/version.h>

#include "generated/sqlite_migrations.h"
#include "generated/sqlite_sql.h"
#include "sqlite/open_sqlite.h"
#include "sqlite/schema.h"
#include "store/script.h"

namespace pawl::sqlite {

InstallScript install_script(int from_version) {
    store::check_from_version(from_version, newest_version());
    std::string text = fmt::format(
        "-- pawl {}: the schema, from version {} to {}. Run it with: sqlite3 FILE < SCRIPT\n"
        ".bail on\n",
        PAWL_VERSION,
        from_version,
        newest_version()
    );
    const auto add = [&](std::string_view part) { text.append(part).append("\n"); };
    const auto from = std::to_string(from_version);
    add(store::replaced(std::string(sql::script_begin.text), "from_version", from));
    const auto& check = from_version == 0 ? sql::script_check_empty : sql::script_check_version;
    add(store::replaced(std::string(check.text), "from_version", from));
    for (const store::Migration& migration : sql::migrations) {
        if (migration.version <= from_version) continue;
        add(migration.text);
        std::string record(sql::script_record_version.text);
        record = store::replaced(std::move(record), "version", std::to_string(migration.version));
        add(store::replaced(std::move(record), "migration", migration.name));
    }
    add("commit;");
    return {newest_version(), text};
}

}  // namespace pawl::sqlite
