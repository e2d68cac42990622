// Takes a JSON array apart without parsing what is in it.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace pawl::model {

// The text of each element, as it stands there; nothing where the value is no array. `json` must be
// valid, and must live as long as the elements.
[[nodiscard]] std::optional<std::vector<std::string_view>> json_elements(std::string_view json);

// Whether the value is an array. `json` must be valid.
[[nodiscard]] bool is_array(std::string_view json);

// Whether a string in it holds the character 0, which PostgreSQL's jsonb cannot.
[[nodiscard]] bool holds_zero_character(std::string_view json);

}  // namespace pawl::model
