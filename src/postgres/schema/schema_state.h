// What is in the schema, and what this library puts there.
#pragma once

#include <optional>
#include <string>

#include "postgres/driver/connection.h"
#include "store/schema_compare.h"

namespace pawl::postgres {

[[nodiscard]] int library_version();
// Of the function files: install() applies them again if it has changed.
[[nodiscard]] std::string functions_checksum();

// The migrations above `version`, then all functions. Inside a transaction.
void apply_scripts(Connection& connection, int version);
void apply_functions(Connection& connection);

// Inside a transaction with the safe search_path: it decides which names are printed with a schema.
[[nodiscard]] store::Catalogue found_catalogue(Connection& connection, const std::string& schema);

// Runs all scripts in an empty schema of the same name and undoes it. Inside a transaction; needs
// the right to create schemas and a server that writes, else throws Refused and leaves the
// transaction usable.
[[nodiscard]] store::Catalogue expected_catalogue(
    Connection& connection, const std::string& schema
);

// The expected catalogue as an earlier install() has recorded it, so that the scripts need not run
// at each start of a program. Nothing if it is missing, was changed, or is of another library or
// server.
[[nodiscard]] std::optional<store::Catalogue> recorded_catalogue(Connection& connection);
void create_manifest(Connection& connection);
void record_catalogue(Connection& connection, const store::Catalogue& expected);

// Why functions with the rights of the current role must not be created in the schema: its owner,
// or a role that may create objects there, could replace what they use. Empty: nothing.
[[nodiscard]] std::string unsafe_creators(Connection& connection, const std::string& schema);
[[nodiscard]] std::string unsafe_schema(Connection& connection, const std::string& schema);

// begin; rollback unless committed.
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

// Undone at the end of the scope unless kept.
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
