// JSON containment, as PostgreSQL's jsonb @> has it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <pawl/types.h>

namespace pawl::model {

// Objects: every member of the pattern is contained in the member of that name. Arrays: every
// element of the pattern is contained in some element; order and repetition do not count, and an
// array contains a plain value that is one of its elements. Everything else: equal.
[[nodiscard]] bool contains(const nlohmann::json& value, const nlohmann::json& pattern);
// Both must be valid JSON.
[[nodiscard]] bool contains(const Json& value, const Json& pattern);

}  // namespace pawl::model
