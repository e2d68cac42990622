#include "postgres/driver/rows.h"

#include <pawl/error.h>

namespace pawl::postgres {

namespace {

// The elements of a one-dimensional array; read(bytes, length) converts an element that is not
// null.
template <class T, class Read>
std::vector<T> elements(const char* bytes, Read read) {
    std::vector<T> values;
    if (read_int32(bytes) == 0) return values;  // no dimensions: an empty array
    const int length = read_int32(bytes + 12);
    values.reserve(static_cast<std::size_t>(length));
    const char* next = bytes + 20;
    for (int i = 0; i < length; ++i) {
        const int size = read_int32(next);
        next += 4;
        if (size < 0) {
            values.push_back(T{});
            continue;
        }
        values.push_back(read(next, size));
        next += size;
    }
    return values;
}

}  // namespace

void Rows::missing(int row, int column) const {
    throw Error(
        ErrorCode::database_error,
        "PostgreSQL answered with " + std::to_string(size()) + " rows of " +
            std::to_string(PQnfields(result_.get())) + " columns where row " + std::to_string(row) +
            ", column " + std::to_string(column) +
            " was expected; do the functions in the schema belong to this version of pawl?"
    );
}

std::vector<bool> Rows::boolean_array(int row, int column) const {
    if (is_null(row, column)) return {};
    return elements<bool>(at(row, column), [](const char* bytes, int) { return *bytes != '\0'; });
}

std::vector<int> Rows::int4_array(int row, int column) const {
    if (is_null(row, column)) return {};
    return elements<int>(at(row, column), [](const char* bytes, int) { return read_int32(bytes); });
}

std::vector<std::int64_t> Rows::int8_array(int row, int column) const {
    if (is_null(row, column)) return {};
    return elements<std::int64_t>(at(row, column), [](const char* bytes, int) {
        return read_int64(bytes);
    });
}

std::vector<std::string_view> Rows::text_array(int row, int column) const {
    if (is_null(row, column)) return {};
    return elements<std::string_view>(at(row, column), [](const char* bytes, int size) {
        return std::string_view(bytes, static_cast<std::size_t>(size));
    });
}

std::vector<std::optional<Timestamp>> Rows::time_array(int row, int column) const {
    if (is_null(row, column)) return {};
    return elements<std::optional<Timestamp>>(at(row, column), [](const char* bytes, int) {
        return from_postgres_time(read_int64(bytes));
    });
}

}  // namespace pawl::postgres
