#include "postgres/rows.h"

namespace pawl::postgres {

namespace {

// Calls take(bytes, length) for every element of a one-dimensional array without nulls.
template <class Take>
void each_element(const char* bytes, Take take) {
    if (read_int32(bytes) == 0) return;  // no dimensions: an empty array
    const int length = read_int32(bytes + 12);
    const char* next = bytes + 20;
    for (int i = 0; i < length; ++i) {
        const int size = read_int32(next);
        take(next + 4, size);
        next += 4 + size;
    }
}

}  // namespace

std::vector<std::int64_t> Rows::int8_array(int row, int column) const {
    std::vector<std::int64_t> values;
    each_element(at(row, column), [&](const char* bytes, int) {
        values.push_back(read_int64(bytes));
    });
    return values;
}

std::vector<std::string_view> Rows::text_array(int row, int column) const {
    std::vector<std::string_view> values;
    each_element(at(row, column), [&](const char* bytes, int size) {
        values.emplace_back(bytes, static_cast<std::size_t>(size));
    });
    return values;
}

}  // namespace pawl::postgres
