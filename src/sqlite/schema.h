// The schema of the file: its version, its clock, and what install() and verify() do with it.
#pragma once

#include <optional>
#include <pawl/store.h>

#include "sqlite/session.h"

namespace pawl::sqlite {

// Throws not_installed, schema_too_old, schema_too_new where the schema is not the one of this
// build.
void require_schema(Session& session);
// 0: not installed. Throws only when the file cannot be read.
[[nodiscard]] int installed_version(Session& session);
[[nodiscard]] int newest_version();

// Inside a write transaction. Throws schema_too_new.
void apply_migrations(Session& session);
// Inside a transaction.
[[nodiscard]] SchemaReport inspect_schema(Session& session);

[[nodiscard]] std::optional<Timestamp> fixed_time(Session& session);
// The store's clock: the host's, or where a test has stopped it.
[[nodiscard]] Timestamp current_time(Session& session);

}  // namespace pawl::sqlite
