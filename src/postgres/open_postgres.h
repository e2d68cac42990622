// Opens a PostgreSQL store. No libpq here: the composition root needs none.
#pragma once

#include <memory>
#include <pawl/store.h>
#include <string>
#include <utility>
#include <vector>

namespace pawl::seam {
class Backend;
}

namespace pawl::postgres {

// none: connect() refuses a pooler it did not expect. session: sessions are ours as without one.
// transaction: no prepared statements, no LISTEN.
enum class Pooler { none, session, transaction };

struct PostgresTarget {
    std::string url;  // for libpq, without our own parameters
    std::string schema = "pawl";
    int max_connections = 6;
    Pooler pooler = Pooler::none;
};

[[nodiscard]] std::shared_ptr<seam::Backend> open_postgres(
    PostgresTarget target, ConnectOptions options
);

}  // namespace pawl::postgres
