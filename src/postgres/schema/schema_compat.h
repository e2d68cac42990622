// The optional schema `pgflow`: the names of pgflow over the functions of a store. See
// docs/pgflow.md.
#pragma once

#include <optional>
#include <string>

#include "postgres/driver/connection.h"

namespace pawl::postgres {

// All functions are called inside a transaction with the safe search_path.

// Whether the database has that schema and it belongs to this store.
[[nodiscard]] bool has_compat(Connection& connection, const std::string& schema);
// Creates it, or recreates everything except its data.
void apply_compat(Connection& connection, const std::string& schema);
// The problem that verify() reports; none if the schema is as this library defines it, or does not
// exist.
[[nodiscard]] std::optional<std::string> compat_problem(
    Connection& connection, const std::string& schema
);

}  // namespace pawl::postgres
