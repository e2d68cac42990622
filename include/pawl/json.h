// Opt-in: typed payloads through nlohmann::json.
#pragma once

#include <nlohmann/json.hpp>
#include <pawl/error.h>
#include <pawl/types.h>
#include <string>

namespace pawl {

namespace detail {

// nlohmann says what is wrong with a value, but not which one it is. So: leave members out, all but
// more and more of them, and see with which one the complaint comes back.
template <class T>
std::string member_at_fault(const nlohmann::json& object) {
    if (!object.is_object()) return {};
    nlohmann::json known = nlohmann::json::object();
    while (known.size() < object.size()) {
        std::string missing;
        try {
            (void)known.template get<T>();
            return {};
        } catch (const nlohmann::json::out_of_range& error) {
            const std::string text = error.what();  // "... key 'name' not found"
            const auto from = text.find("key '");
            const auto to = text.rfind("' not found");
            if (from == std::string::npos || to == std::string::npos || to <= from + 5) return {};
            missing = text.substr(from + 5, to - from - 5);
        } catch (const nlohmann::json::exception&) {
            return {};
        }
        if (!object.contains(missing)) return missing;
        known[missing] = object[missing];
        try {
            (void)known.template get<T>();
        } catch (const nlohmann::json::type_error&) {
            return missing;
        } catch (const nlohmann::json::exception&) {
            continue;  // the next one is missing
        }
        return {};
    }
    return {};
}

}  // namespace detail

template <class T>
struct JsonCodec {
    static Json encode(const T& value) {
        try {
            return Json{nlohmann::json(value).dump()};
        } catch (const nlohmann::json::exception& error) {
            throw Error(
                ErrorCode::serialization_error,
                std::string("the value does not convert to JSON: ") + error.what()
            );
        }
    }
    static T decode(const Json& json) {
        nlohmann::json parsed;
        try {
            parsed = nlohmann::json::parse(json.text);
            return parsed.template get<T>();
        } catch (const nlohmann::json::exception& error) {
            const std::string member = detail::member_at_fault<T>(parsed);
            throw Error(
                ErrorCode::serialization_error,
                "the JSON does not convert to the type asked for: " +
                    (member.empty() ? std::string() : "member '" + member + "': ") + error.what()
            );
        }
    }
};

}  // namespace pawl
