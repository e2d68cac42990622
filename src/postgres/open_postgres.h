// Opens a PostgreSQL store. Includes no libpq header, because the composition root needs none.
#pragma once

#include <memory>
#include <pawl/install_script.h>
#include <pawl/store.h>
#include <string>
#include <utility>
#include <vector>

namespace pawl::seam {
class Backend;
}

namespace pawl::postgres {

// none: connect() refuses an unexpected pooler. session: sessions are exclusive, as without a
// pooler. transaction: no prepared statements, no LISTEN.
enum class Pooler { none, session, transaction };

struct PostgresTarget {
    std::string url;                          // for libpq, without pawl's own parameters
    std::vector<std::string> own_parameters;  // their names, for errors
    std::string schema = "pawl";
    int max_connections = 6;
    Pooler pooler = Pooler::none;
};

[[nodiscard]] std::shared_ptr<seam::Backend> open_postgres(
    PostgresTarget target, ConnectOptions options
);

// For psql, in the schema of that name. Throws invalid_argument.
[[nodiscard]] InstallScript install_script(const std::string& schema, int from_version);

}  // namespace pawl::postgres
