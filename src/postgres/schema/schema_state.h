// The objects in the schema, and those that this library defines.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "postgres/driver/connection.h"
#include "store/schema_compare.h"

namespace pawl::postgres {

[[nodiscard]] int library_version();
// Checksum of the function files: install() applies them again if it has changed.
[[nodiscard]] std::string functions_checksum();

// Applies the migrations above `version`, then all functions. Inside a transaction.
void apply_scripts(Connection& connection, int version);
void apply_functions(Connection& connection);

// Runs one statement per line, because some cannot run together with others.
void run_lines(Connection& connection, std::string_view script, std::string_view name);

// Inside a transaction with the safe search_path, which decides which names are printed with a
// schema.
[[nodiscard]] store::Catalogue found_catalogue(Connection& connection, const std::string& schema);

// Runs all scripts in an empty schema of the same name and rolls back. Inside a transaction. Needs
// the privilege to create schemas and a server that accepts writes; otherwise throws Refused and
// leaves the transaction usable.
[[nodiscard]] store::Catalogue expected_catalogue(
    Connection& connection, const std::string& schema
);

// The expected catalogue as recorded by an earlier install(), so that the scripts need not run at
// each start of a program. None if it is missing, was changed, or is from another library or server
// version.
[[nodiscard]] std::optional<store::Catalogue> recorded_catalogue(Connection& connection);
void create_manifest(Connection& connection);
void record_catalogue(Connection& connection, const store::Catalogue& expected);

// Why functions with the rights of the current role must not be created in the schema: its owner,
// or a role that may create objects there, could replace objects that they use. Empty if it is
// safe.
[[nodiscard]] std::string unsafe_creators(Connection& connection, const std::string& schema);
[[nodiscard]] std::string unsafe_schema(Connection& connection, const std::string& schema);

// Rolls back unless committed.
class ScriptTransaction {
public:
    explicit ScriptTransaction(Connection& connection);
    ~ScriptTransaction();
    void commit();
    ScriptTransaction(const ScriptTransaction&) = delete;
    ScriptTransaction& operator=(const ScriptTransaction&) = delete;

private:
    Connection& connection_;
    bool done_ = false;
};

// Rolls back at the end of the scope unless kept.
class ScriptSavepoint {
public:
    explicit ScriptSavepoint(Connection& connection);
    ~ScriptSavepoint();
    void keep();
    ScriptSavepoint(const ScriptSavepoint&) = delete;
    ScriptSavepoint& operator=(const ScriptSavepoint&) = delete;

private:
    Connection& connection_;
    bool done_ = false;
};

}  // namespace pawl::postgres
