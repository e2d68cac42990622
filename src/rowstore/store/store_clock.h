// The store's clock, and the version of its schema.
#pragma once

#include <optional>

#include "rowstore/session.h"

namespace pawl::rowstore {

[[nodiscard]] std::optional<Timestamp> fixed_time(Session& session);
// The store's clock: the host's, or where a test has stopped it.
[[nodiscard]] Timestamp current_time(Session& session);

// 0: not installed. Throws only when the database cannot be read.
[[nodiscard]] int installed_version(Session& session);

}  // namespace pawl::rowstore
