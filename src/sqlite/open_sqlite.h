// How the composition root opens a store on an SQLite file.
#pragma once

#include <memory>
#include <string>

#include "store/backend.h"

namespace pawl::sqlite {

struct SqliteTarget {
    enum class Synchronous { full, normal };

    std::string path;  // of a file in an existing folder, or ":memory:"
    Synchronous synchronous = Synchronous::full;
    Duration busy_timeout = 30s;
    int max_connections = 4;  // one writes, the others read; one more waits for wake-ups
};

[[nodiscard]] std::shared_ptr<store::Backend> open_sqlite(
    const SqliteTarget& target, ConnectOptions options
);

}  // namespace pawl::sqlite
