// Splits a JSON array without parsing its elements.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pawl::model {

// The text of each element; nullopt if the value is not an array. `json` must be valid and outlive
// the elements.
[[nodiscard]] std::optional<std::vector<std::string_view>> json_elements(std::string_view json);

// Whether the value is an array. `json` must be valid.
[[nodiscard]] bool is_array(std::string_view json);

// Whether a string in it contains U+0000, which PostgreSQL's jsonb cannot store.
[[nodiscard]] bool holds_zero_character(std::string_view json);

}  // namespace pawl::model
