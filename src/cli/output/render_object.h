// Helpers of the files that implement render.h.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <pawl/stats.h>
#include <pawl/types.h>
#include <string>

#include "cli/frame/value_parsers.h"

namespace pawl::cli {

using Object = nlohmann::ordered_json;

// Broken UTF-8 in a text must not prevent the output of the rest.
inline std::string dump(const Object& value) {
    return value.dump(-1, ' ', false, Object::error_handler_t::replace);
}

inline Object or_null(const std::string& text) {
    return text.empty() ? Object() : Object(text);
}
template <class Tag>
Object or_null(Id<Tag> id) {
    return id ? Object(id.value()) : Object();
}
inline Object or_null(std::optional<Duration> duration) {
    return duration ? Object(duration->count()) : Object();
}
inline Object or_null(std::optional<Timestamp> time) {
    return time ? Object(rfc3339(*time)) : Object();
}
// Adds the field "at_least": the names of the counts that are lower bounds.
inline std::string dump_with_counts(
    Object object, std::initializer_list<std::pair<const char*, Count>> counts
) {
    auto at_least = Object::array();
    for (const auto& [name, count] : counts) {
        if (!count.exact) at_least.push_back(name);
    }
    object["at_least"] = at_least;
    return dump(object);
}
template <class T>
Object or_null(const std::optional<T>& value) {
    return value ? Object(*value) : Object();
}

}  // namespace pawl::cli
