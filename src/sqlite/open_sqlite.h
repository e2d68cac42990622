// How the composition root opens a store on an SQLite file.
#pragma once

#include <memory>
#include <string>

#include "seam/backend.h"

namespace pawl::sqlite {

struct SqliteTarget {
    enum class Synchronous { full, normal };

    std::string path;             // of a file in an existing folder, or ":memory:"
    std::string tenants_of = {};  // the file beside which its tenants lie; empty: `path` itself
    Synchronous synchronous = Synchronous::full;
    Duration busy_timeout = 30s;
    int max_connections = 4;  // one writes, the others read; one more waits for wake-ups
};

// The file beside which the tenants lie, as an absolute path.
[[nodiscard]] std::string tenants_base(const SqliteTarget& target);
// The same for another tenant. Throws invalid_url for :memory:, which has only one.
[[nodiscard]] SqliteTarget tenant_target(const SqliteTarget& target, const std::string& name);

[[nodiscard]] std::shared_ptr<seam::Backend> open_sqlite(
    const SqliteTarget& target, ConnectOptions options
);

}  // namespace pawl::sqlite
