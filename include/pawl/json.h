// Opt-in: typed values through nlohmann::json. Include it next to <pawl/pawl.h>, and give each
// struct that is stored one line:
//
//   struct Order { std::string item; int count = 0; std::optional<std::string> note; };
//   NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Order, item, count, note)   // in the namespace of Order
//
// Parameters, results, payloads and the data of a resume may then be an Order, a
// std::vector<Order>, and so on. In addition to everything that nlohmann::json converts (numbers,
// strings, containers, enums, other structs) these types have a JSON form, as members of structs
// too:
//
//   std::optional<T>               the value, or null
//   std::chrono::duration          a number with its unit, "1500ms"; units: ns, us, ms, s, m, h, d
//   system_clock::time_point and   UTC as in RFC 3339, "2026-01-31T12:00:00.250Z", with as many
//   any other std::chrono::sys_time   digits as the type has
//   const char*, std::string_view  a string, which is read back as a std::string
//
// All of them are read back exactly. A text that the type cannot represent exactly ("1500ms" as
// std::chrono::seconds) is refused, never rounded. A specialisation of nlohmann::adl_serializer of
// your own takes precedence.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <pawl/codec.h>
#include <ratio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace pawl::inline v0::detail {

// The texts of durations and time points. A period is given in nanoseconds. All of these functions
// throw serialization_error.
[[nodiscard]] PAWL_EXPORT std::string duration_text(std::int64_t count, std::int64_t period);
[[nodiscard]] PAWL_EXPORT std::string duration_text(double number, std::int64_t period);
[[nodiscard]] PAWL_EXPORT std::int64_t duration_count(std::string_view text, std::int64_t period);
[[nodiscard]] PAWL_EXPORT double duration_number(std::string_view text, std::int64_t period);
[[nodiscard]] PAWL_EXPORT std::string time_text(std::int64_t count, std::int64_t period);
[[nodiscard]] PAWL_EXPORT std::int64_t time_count(std::string_view text, std::int64_t period);
[[noreturn]] PAWL_EXPORT void throw_out_of_range_time();

/// How many nanoseconds a period has; 0 if that is not a whole number.
template <class Period>
inline constexpr std::int64_t period_in_nanoseconds =
    std::ratio_divide<Period, std::nano>::den == 1 ? std::ratio_divide<Period, std::nano>::num : 0;

template <class Rep>
concept TimeCount = std::integral<Rep> || std::same_as<Rep, double> || std::same_as<Rep, float>;

template <class Rep, class From>
[[nodiscard]] Rep narrowed(From count) {
    if (!std::in_range<Rep>(count)) throw_out_of_range_time();
    return static_cast<Rep>(count);
}

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = !is_optional<T>;  // null would be ambiguous
template <class T>
inline constexpr bool is_duration = false;
template <TimeCount Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> =
    period_in_nanoseconds<Period> != 0;
template <class T>
inline constexpr bool is_time_point = false;
template <std::integral Rep, class Period>
inline constexpr bool is_time_point<std::chrono::sys_time<std::chrono::duration<Rep, Period>>> =
    period_in_nanoseconds<Period> != 0;

/// nlohmann::json can be constructed from a T.
template <class T>
concept WrittenByNlohmann =
    !std::is_pointer_v<T> && std::is_constructible_v<nlohmann::json, const T&>;
/// nlohmann::json::get<T>() compiles.
template <class T>
concept ReadByNlohmann = !std::is_pointer_v<T> && requires(const nlohmann::json& json) {
    { json.template get<T>() } -> std::convertible_to<T>;
};

/// What an exception says, without nlohmann's "[json.exception.type_error.302] ".
[[nodiscard]] PAWL_EXPORT std::string plain_message(const std::exception& error);

/// The member that an object lacks, according to nlohmann's error; "" for other errors.
[[nodiscard]] PAWL_EXPORT std::string missing_member(const std::exception& error);

/// The member of `object` that is missing or has a wrong value; "" if it cannot be found.
/// nlohmann's error does not name a member with a wrong value. But it names the first one that is
/// missing: adding the members one by one in that order finds the one whose value is refused.
template <class T>
std::string member_at_fault(const nlohmann::json& object) {
    if (!object.is_object()) return {};
    nlohmann::json known = nlohmann::json::object();
    std::string last;
    while (true) {
        try {
            (void)known.template get<T>();
            return {};
        } catch (const std::exception& error) {
            std::string missing = missing_member(error);
            if (missing.empty()) return last;
            if (!object.contains(missing)) return missing;
            if (known.contains(missing)) return last;  // a member of a member
            known[missing] = object[missing];
            last = missing;
        }
    }
}

}  // namespace pawl::inline v0::detail

namespace nlohmann {

// These specialisations differ from the primary template only by their constraints. Therefore every
// specialisation that names a type is more specialised, and takes precedence.

template <class T, class Enabled>
requires(pawl::detail::is_optional<T>) struct adl_serializer<T, Enabled> {
    using Value = typename T::value_type;
    template <
        class BasicJson,
        class V = Value,
        class = std::enable_if_t<pawl::detail::WrittenByNlohmann<V>>>
    static void to_json(BasicJson& json, const T& value) {
        if (value) {
            json = *value;
        } else {
            json = nullptr;
        }
    }
    template <
        class BasicJson,
        class V = Value,
        class = std::enable_if_t<pawl::detail::ReadByNlohmann<V>>>
    static void from_json(const BasicJson& json, T& value) {
        if (json.is_null()) {
            value.reset();
        } else {
            value = json.template get<Value>();
        }
    }
};

template <class T, class Enabled>
requires(pawl::detail::is_duration<T>) struct adl_serializer<T, Enabled> {
    using Rep = typename T::rep;
    using Number = std::conditional_t<std::floating_point<Rep>, double, std::int64_t>;
    static constexpr std::int64_t period = pawl::detail::period_in_nanoseconds<typename T::period>;
    template <class BasicJson>
    static void to_json(BasicJson& json, const T& value) {
        if constexpr (std::floating_point<Rep>) {
            json = pawl::detail::duration_text(static_cast<double>(value.count()), period);
        } else {
            const auto count = pawl::detail::narrowed<std::int64_t>(value.count());
            json = pawl::detail::duration_text(count, period);
        }
    }
    template <class BasicJson>
    static void from_json(const BasicJson& json, T& value) {
        const auto text = json.template get<std::string>();
        if constexpr (std::floating_point<Rep>) {
            value = T(static_cast<Rep>(pawl::detail::duration_number(text, period)));
        } else {
            value = T(pawl::detail::narrowed<Rep>(pawl::detail::duration_count(text, period)));
        }
    }
};

template <class T, class Enabled>
requires(pawl::detail::is_time_point<T>) struct adl_serializer<T, Enabled> {
    using Duration = typename T::duration;
    using Rep = typename Duration::rep;
    static constexpr std::int64_t period =
        pawl::detail::period_in_nanoseconds<typename Duration::period>;
    template <class BasicJson>
    static void to_json(BasicJson& json, const T& value) {
        const auto count = pawl::detail::narrowed<std::int64_t>(value.time_since_epoch().count());
        json = pawl::detail::time_text(count, period);
    }
    template <class BasicJson>
    static void from_json(const BasicJson& json, T& value) {
        const auto text = json.template get<std::string>();
        value = T(Duration(pawl::detail::narrowed<Rep>(pawl::detail::time_count(text, period))));
    }
};

}  // namespace nlohmann

namespace pawl::inline v0 {

/// Converts everything that nlohmann::json converts. Both functions throw serialization_error,
/// which names the type and, if it can be found, the member.
template <class T>
struct JsonCodec {
    static constexpr bool writes = detail::WrittenByNlohmann<T>;
    static constexpr bool reads = detail::ReadByNlohmann<T>;

    /// Throws serialization_error if the value does not convert.
    static Json encode(const T& value) {
        try {
            return Json{nlohmann::json(value).dump()};
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            throw Error(
                ErrorCode::serialization_error,
                "cannot convert " + detail::type_name<T>() +
                    " to JSON: " + detail::plain_message(error)
            );
        }
    }

    /// Throws serialization_error, which names the member at fault.
    static T decode(const Json& json) {
        nlohmann::json parsed;
        try {
            parsed = nlohmann::json::parse(json.text);
            return parsed.template get<T>();
        } catch (const std::bad_alloc&) {
            throw;
        } catch (const std::exception& error) {
            std::string why = detail::plain_message(error);
            const std::string member = detail::member_at_fault<T>(parsed);
            if (detail::missing_member(error) == member && !member.empty()) {
                why = "member '" + member + "' is missing";
            } else if (!member.empty()) {
                why = "member '" + member + "': " + why;
            }
            throw Error(
                ErrorCode::serialization_error,
                "cannot convert JSON to " + detail::type_name<T>() + ": " + why
            );
        }
    }
};

}  // namespace pawl::inline v0
