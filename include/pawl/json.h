// Opt-in: typed payloads through nlohmann::json.
#pragma once

#include <nlohmann/json.hpp>
#include <pawl/error.h>
#include <pawl/types.h>
#include <string>

namespace pawl {

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
        try {
            return nlohmann::json::parse(json.text).template get<T>();
        } catch (const nlohmann::json::exception& error) {
            throw Error(
                ErrorCode::serialization_error,
                std::string("the JSON does not convert to the type asked for: ") + error.what()
            );
        }
    }
};

}  // namespace pawl
