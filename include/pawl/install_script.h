// The schema as an SQL script, for database administrators who do not let programs create it.
#pragma once

#include <pawl/export.h>
#include <string>
#include <string_view>

namespace pawl::inline v0 {

/// A script and the schema version that it installs.
struct InstallScript {
    int version = 0;   ///< the schema version that the script leads to
    std::string text;  ///< for psql or sqlite3; one transaction
};

/// The statements of Store::install() for the store of this URL, from schema version `from_version`
/// (0: nothing is installed). The script stops and changes nothing if another version is installed.
/// Does not connect. Throws invalid_url, invalid_schema_name, backend_missing; invalid_argument if
/// this library does not know `from_version`.
[[nodiscard]] PAWL_EXPORT InstallScript install_script(std::string_view url, int from_version = 0);

}  // namespace pawl::inline v0
