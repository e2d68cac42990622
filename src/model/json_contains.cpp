#include "model/json_contains.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace pawl::model {

namespace {

bool contained(const nlohmann::json& value, const nlohmann::json& pattern) {
    if (value.is_object() && pattern.is_object()) {
        return std::ranges::all_of(pattern.items(), [&](const auto& member) {
            const auto found = value.find(member.key());
            return found != value.end() && contained(*found, member.value());
        });
    }
    if (value.is_array() && pattern.is_array()) {
        return std::ranges::all_of(pattern, [&](const nlohmann::json& wanted) {
            return std::ranges::any_of(value, [&](const nlohmann::json& element) {
                return contained(element, wanted);
            });
        });
    }
    return value == pattern;
}

}  // namespace

bool contains(const nlohmann::json& value, const nlohmann::json& pattern) {
    // Only at the top level: ["a"] @> "a", but not [["a"]] @> ["a"].
    if (value.is_array() && pattern.is_primitive())
        return std::ranges::find(value, pattern) != value.end();
    return contained(value, pattern);
}

bool contains(const Json& value, const Json& pattern) {
    return contains(nlohmann::json::parse(value.text), nlohmann::json::parse(pattern.text));
}

}  // namespace pawl::model
