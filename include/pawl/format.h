// Opt-in: fmt formatters for pawl's ids, enums and counts.
#pragma once

#include <concepts>
#include <fmt/format.h>
#include <pawl/pawl.h>
#include <string_view>
#include <type_traits>

template <class Tag>
struct fmt::formatter<pawl::Id<Tag>> : fmt::formatter<std::int64_t> {
    template <class Context>
    auto format(pawl::Id<Tag> id, Context& context) const {
        return fmt::formatter<std::int64_t>::format(id.value(), context);
    }
};

/// Every enum of pawl has a to_string(); the text is the stored one: "SUCCESS", "skip-cascade", ...
template <class Enum>
requires std::is_enum_v<Enum> && requires(Enum value) {
    { pawl::to_string(value) } -> std::same_as<std::string_view>;
}
struct fmt::formatter<Enum> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(Enum value, Context& context) const {
        return fmt::formatter<std::string_view>::format(pawl::to_string(value), context);
    }
};

template <>
struct fmt::formatter<pawl::Count> : fmt::formatter<std::string_view> {
    template <class Context>
    auto format(const pawl::Count& count, Context& context) const {
        return fmt::formatter<std::string_view>::format(pawl::to_string(count), context);
    }
};
