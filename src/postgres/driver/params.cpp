#include "postgres/driver/params.h"

#include <algorithm>

#include "model/check.h"
#include "postgres/driver/binary_format.h"

namespace pawl::postgres {

namespace {

// The header of a one-dimensional array: dimensions, has nulls, element type, length, lower bound.
void put_array_header(std::string& out, std::uint32_t element_type, std::size_t length) {
    put_int32(out, 1);
    put_int32(out, 1);
    put_int32(out, static_cast<std::int32_t>(element_type));
    put_int32(out, static_cast<std::int32_t>(length));
    put_int32(out, 1);
}

template <class Strings>
void put_strings(std::string& out, std::uint32_t element_type, const Strings& values) {
    put_array_header(out, element_type, values.size());
    for (const auto& value : values) {
        put_int32(out, static_cast<std::int32_t>(value.size()));
        out.append(value);
    }
}

}  // namespace

std::string& Params::add() {
    is_null_.push_back(0);
    values_.push_back(nullptr);
    return buffers_.emplace_back();
}

void Params::finish() {
    lengths_.push_back(static_cast<int>(buffers_.back().size()));
}

Params& Params::null() {
    add();
    is_null_.back() = 1;
    finish();
    return *this;
}

Params& Params::boolean(bool value) {
    add().push_back(value ? '\1' : '\0');
    finish();
    return *this;
}

Params& Params::int4(int value) {
    put_int32(add(), value);
    finish();
    return *this;
}

Params& Params::int8(std::int64_t value) {
    put_int64(add(), value);
    finish();
    return *this;
}

Params& Params::text(std::string_view value) {
    model::check_parameter(value);
    add().assign(value);
    finish();
    return *this;
}

Params& Params::time(Timestamp value) {
    return int8(to_postgres_time(value));
}

Params& Params::int4_array(std::span<const int> values) {
    std::string& out = add();
    out.reserve(20 + values.size() * 8);
    put_array_header(out, oid_int4, values.size());
    for (const int value : values) {
        put_int32(out, 4);
        put_int32(out, value);
    }
    finish();
    return *this;
}

Params& Params::int8_array(std::span<const std::int64_t> values) {
    std::string& out = add();
    out.reserve(20 + values.size() * 12);
    put_array_header(out, oid_int8, values.size());
    for (const std::int64_t value : values) {
        put_int32(out, 8);
        put_int64(out, value);
    }
    finish();
    return *this;
}

Params& Params::text_array(std::span<const std::string_view> values) {
    put_strings(add(), oid_text, values);
    finish();
    return *this;
}

Params& Params::text_array(std::span<const std::string> values) {
    put_strings(add(), oid_text, values);
    finish();
    return *this;
}

Params& Params::json_array(std::span<const std::string_view> values) {
    put_strings(add(), oid_json, values);
    finish();
    return *this;
}

template <class T, class Put>
Params& Params::nullable_array(
    std::uint32_t element_type, std::span<const std::optional<T>> values, Put put
) {
    if (std::ranges::none_of(values, [](const auto& value) { return value.has_value(); }))
        return null();
    std::string& out = add();
    put_array_header(out, element_type, values.size());
    for (const auto& value : values) {
        if (value) {
            put(out, *value);
        } else {
            put_int32(out, -1);
        }
    }
    finish();
    return *this;
}

Params& Params::text_array(std::span<const std::optional<std::string_view>> values) {
    return nullable_array(oid_text, values, [](std::string& out, std::string_view value) {
        put_int32(out, static_cast<std::int32_t>(value.size()));
        out.append(value);
    });
}

Params& Params::int4_array(std::span<const std::optional<int>> values) {
    return nullable_array(oid_int4, values, [](std::string& out, int value) {
        put_int32(out, 4);
        put_int32(out, value);
    });
}

Params& Params::int8_array(std::span<const std::optional<std::int64_t>> values) {
    return nullable_array(oid_int8, values, [](std::string& out, std::int64_t value) {
        put_int32(out, 8);
        put_int64(out, value);
    });
}

Params& Params::boolean_array(std::span<const std::optional<bool>> values) {
    return nullable_array(oid_bool, values, [](std::string& out, bool value) {
        put_int32(out, 1);
        out.push_back(value ? '\1' : '\0');
    });
}

Params& Params::time_array(std::span<const std::optional<Timestamp>> values) {
    return nullable_array(oid_timestamptz, values, [](std::string& out, Timestamp value) {
        put_int32(out, 8);
        put_int64(out, to_postgres_time(value));
    });
}

const char* const* Params::values() const {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
        values_[i] = is_null_[i] != 0 ? nullptr : buffers_[i].data();
    }
    return values_.data();
}

const int* Params::formats() const {
    formats_.assign(buffers_.size(), 1);
    return formats_.data();
}

Params one_text(std::string_view value) {
    Params params;
    params.text(value);
    return params;
}

}  // namespace pawl::postgres
