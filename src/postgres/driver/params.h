// Statement parameters in PostgreSQL's binary format. The statements cast every parameter, so no
// type ids are sent.
#pragma once

#include <optional>
#include <pawl/types.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::postgres {

class Params {
public:
    Params& null();
    Params& boolean(bool value);
    Params& int4(int value);
    Params& int8(std::int64_t value);
    Params& text(std::string_view value);
    Params& time(Timestamp value);
    template <class T>
    Params& optional(const std::optional<T>& value, Params& (Params::*put)(T)) {
        return value ? (this->*put)(*value) : null();
    }
    Params& milliseconds(const std::optional<Duration>& value) {
        return value ? int8(value->count()) : null();
    }

    Params& int4_array(std::span<const int> values);
    Params& int8_array(std::span<const std::int64_t> values);
    Params& text_array(std::span<const std::string_view> values);
    Params& text_array(std::span<const std::string> values);
    Params& json_array(std::span<const std::string_view> values);
    // An array of nulls is sent as one null, which is cheapest for both sides.
    Params& text_array(std::span<const std::optional<std::string_view>> values);
    Params& int4_array(std::span<const std::optional<int>> values);
    Params& int8_array(std::span<const std::optional<std::int64_t>> values);
    Params& boolean_array(std::span<const std::optional<bool>> values);
    Params& time_array(std::span<const std::optional<Timestamp>> values);

    [[nodiscard]] int count() const { return static_cast<int>(values_.size()); }
    // For PQsendQueryPrepared; valid until the next change.
    [[nodiscard]] const char* const* values() const;
    [[nodiscard]] const int* lengths() const { return lengths_.data(); }
    [[nodiscard]] const int* formats() const;

private:
    std::string& add();
    void finish();
    template <class T, class Put>
    Params& nullable_array(
        std::uint32_t element_type, std::span<const std::optional<T>> values, Put put
    );

    std::vector<std::string> buffers_;
    std::vector<char> is_null_;
    std::vector<int> lengths_;
    mutable std::vector<const char*> values_;
    mutable std::vector<int> formats_;
};

[[nodiscard]] Params one_text(std::string_view value);

}  // namespace pawl::postgres
