// Typed values as JSON: what pawl requires of a type that it stores. <pawl/json.h> fulfils it for
// most types. To use another JSON library, specialise pawl::JsonCodec (pawl/types.h).
//
// A type without a JSON form is a compile error whose first line says what to add. Everything below
// is internal.
#pragma once

#include <concepts>
#include <pawl/error.h>
#include <pawl/export.h>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::detail {

template <class T>
struct IsText : std::false_type {};
template <>
struct IsText<const char*> : std::true_type {};
template <>
struct IsText<char*> : std::true_type {};
template <>
struct IsText<std::string_view> : std::true_type {};

/// The type that a value is stored as and read back as: std::string for string literals and views.
template <class T>
using Stored =
    std::conditional_t<IsText<std::decay_t<T>>::value, std::string, std::remove_cvref_t<T>>;

/// JsonCodec<T> is defined. Without <pawl/json.h> that is so only for Json and your own codecs.
template <class T>
inline constexpr bool has_codec = requires {
    sizeof(JsonCodec<T>);
};

template <class T>
constexpr bool can_encode() {
    if constexpr (requires { JsonCodec<T>::writes; }) {
        return JsonCodec<T>::writes;
    } else {
        return requires(const T& value) {
            Json(JsonCodec<T>::encode(value));
        };
    }
}
template <class T>
constexpr bool can_decode() {
    if constexpr (requires { JsonCodec<T>::reads; }) {
        return JsonCodec<T>::reads;
    } else {
        return requires(const Json& json) {
            T(JsonCodec<T>::decode(json));
        };
    }
}

/// T can be written as JSON.
template <class T>
inline constexpr bool writes_json = can_encode<T>();
/// T can be read from JSON, and owns what was read.
template <class T>
inline constexpr bool reads_json = !IsText<T>::value && can_decode<T>();

// The errors, one type each. Code that needs a JSON form asks writes_json or reads_json. If that is
// false, it instantiates the error by sizeof(), once per type, and nothing else, so that no further
// errors follow.

template <class T>
struct NoJsonForm {
    static_assert(
        has_codec<T>,
        "pawl: add #include <pawl/json.h>: it converts typed values (pawl::Json needs no "
        "conversion)"
    );
    static_assert(
        !has_codec<T>,
        "pawl: this type has no JSON form: write NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, "
        "members...) after its definition, in its namespace"
    );
};
template <class T>
struct NotWrittenAsJson {
    static_assert(
        writes_json<T>,
        "pawl: this type cannot be written as JSON: it has from_json() but no to_json(); "
        "NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...) defines both"
    );
};
template <class T>
struct NotReadFromJson {
    static_assert(
        reads_json<T>,
        "pawl: this type cannot be read back from JSON: it needs a default constructor and "
        "from_json(), which NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Type, members...) defines"
    );
};
template <class T>
struct TextWithoutOwner {
    static_assert(
        !IsText<T>::value,
        "pawl: take a std::string instead of a std::string_view or a pointer: it owns the text"
    );
};
template <class T>
using WriteError = std::conditional_t<can_decode<T>(), NotWrittenAsJson<T>, NoJsonForm<T>>;
template <class T>
using ReadError = std::conditional_t<
    IsText<T>::value,
    TextWithoutOwner<T>,
    std::conditional_t<can_encode<T>(), NotReadFromJson<T>, NoJsonForm<T>>>;

/// Stands for a value after a failed check. Never called.
template <class T>
T never();

template <class T>
[[nodiscard]] Json encode(const T& value) {
    if constexpr (!writes_json<Stored<T>>) {
        (void)sizeof(WriteError<Stored<T>>);
        return never<Json>();
    } else if constexpr (IsText<std::decay_t<T>>::value) {
        return JsonCodec<Stored<T>>::encode(std::string(value));
    } else {
        return JsonCodec<T>::encode(value);
    }
}

/// Throws serialization_error for the exception that is being handled: `what` "does not decode".
[[noreturn]] PAWL_EXPORT void throw_undecodable(const std::string& what);

/// `what()` names the value in errors: "the output of run 12". T void: the value is ignored.
template <class T, class What>
T decode(Json json, What what) {
    if constexpr (std::is_void_v<T>) {
        return;
    } else if constexpr (!reads_json<T>) {
        (void)sizeof(ReadError<T>);
        return never<T>();
    } else {
        try {
            return JsonCodec<T>::decode(std::move(json));
        } catch (...) {
            throw_undecodable(what());
        }
    }
}

/// The name of a type for messages, from the text that the compiler gives for a function.
[[nodiscard]] PAWL_EXPORT std::string readable_type(std::string_view function);
template <class T>
[[nodiscard]] std::string type_name() {
    return readable_type(__PRETTY_FUNCTION__);
}

}  // namespace pawl::inline v0::detail
