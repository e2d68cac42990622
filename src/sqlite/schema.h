// The schema of the file: its version, its clock, and the work of install() and verify().
#pragma once

#include <optional>
#include <pawl/store.h>
#include <vector>

#include "rowstore/store/store_clock.h"
#include "sqlite/session.h"
#include "store/schema_compare.h"

namespace pawl::sqlite {

using rowstore::current_time;
using rowstore::fixed_time;
using rowstore::installed_version;

// Throws not_installed, schema_too_old or schema_too_new if the schema does not match this build.
void require_schema(Session& session);
[[nodiscard]] int newest_version();

// Inside a write transaction. Throws schema_too_new.
void apply_migrations(Session& session);
// The differences between the schema and what the migrations create in an empty database.
[[nodiscard]] std::vector<store::Difference> schema_differences(Session& session);
// Inside a write transaction, at the newest version. Restores indexes, triggers and views.
void repair_schema(Session& session, InstallReport& report);
[[nodiscard]] SchemaReport not_installed_report(const std::string& file);
// Inside a transaction.
[[nodiscard]] SchemaReport inspect_schema(Session& session);

}  // namespace pawl::sqlite
