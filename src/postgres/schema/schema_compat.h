// The optional schema `pgflow`: pgflow's names over the functions of a store. See docs/pgflow.md.
#pragma once

#include <optional>
#include <string>

#include "postgres/driver/connection.h"

namespace pawl::postgres {

// All inside a transaction with the safe search_path.

// Whether the database has that schema, and it is this store's.
[[nodiscard]] bool has_compat(Connection& connection, const std::string& schema);
// Creates it, or all of it but its data anew.
void apply_compat(Connection& connection, const std::string& schema);
// What verify() says of it; nothing if it is as this library defines it, or not there.
[[nodiscard]] std::optional<std::string> compat_problem(
    Connection& connection, const std::string& schema
);

}  // namespace pawl::postgres
