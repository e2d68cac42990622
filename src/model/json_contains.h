// JSON containment with the semantics of PostgreSQL's jsonb @>.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <pawl/types.h>

namespace pawl::model {

// Objects: the value has every member of the pattern, and contains its value. Arrays: every element
// of the pattern is contained in some element; order and duplicates do not matter, and an array
// contains a plain value that equals one of its elements. Other values: equal.
[[nodiscard]] bool contains(const nlohmann::json& value, const nlohmann::json& pattern);
// Both must be valid JSON.
[[nodiscard]] bool contains(const Json& value, const Json& pattern);

}  // namespace pawl::model
