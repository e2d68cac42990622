// The clock of the store, and the version of its schema.
#pragma once

#include <optional>

#include "rowstore/session.h"

namespace pawl::rowstore {

[[nodiscard]] std::optional<Timestamp> fixed_time(Session& session);
// The clock of the host, or the time at which a test has stopped it.
[[nodiscard]] Timestamp current_time(Session& session);

// 0 if the schema is not installed. Throws only if the database cannot be read.
[[nodiscard]] int installed_version(Session& session);

}  // namespace pawl::rowstore
