// Opens a store on an SQLite file, for the composition root.
#pragma once

#include <memory>
#include <pawl/install_script.h>
#include <string>

#include "base/literals.h"
#include "seam/backend.h"

namespace pawl::sqlite {

struct SqliteTarget {
    enum class Synchronous { full, normal };

    std::string path;             // a file in an existing folder, or ":memory:"
    std::string tenants_of = {};  // the file next to which the files of tenants are; empty: `path`
    Synchronous synchronous = Synchronous::full;
    Duration busy_timeout = 30s;
    int max_connections = 4;  // one for writes, the others for reads; wake-ups need one more
};

// The file next to which the files of tenants are, as an absolute path.
[[nodiscard]] std::string tenants_base(const SqliteTarget& target);
// The target of another tenant. Throws invalid_url for :memory:, which has only one.
[[nodiscard]] SqliteTarget tenant_target(const SqliteTarget& target, const std::string& name);

[[nodiscard]] std::shared_ptr<seam::Backend> open_sqlite(
    const SqliteTarget& target, const ConnectOptions& options
);

// For sqlite3. Throws invalid_argument.
[[nodiscard]] InstallScript install_script(int from_version);

}  // namespace pawl::sqlite
