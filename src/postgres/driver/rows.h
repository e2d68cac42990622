// Reads a result in binary format. Columns are addressed by index: use the generated names
// (sql/rows.txt).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "postgres/driver/binary_format.h"
#include "postgres/driver/handles.h"

namespace pawl::postgres {

class Rows {
public:
    explicit Rows(PgResult result) : result_(std::move(result)) {}

    [[nodiscard]] int size() const { return PQntuples(result_.get()); }
    [[nodiscard]] bool empty() const { return size() == 0; }
    [[nodiscard]] bool is_null(int row, int column) const {
        return PQgetisnull(result_.get(), row, column) != 0;
    }
    [[nodiscard]] std::int64_t int8(int row, int column) const {
        return read_int64(at(row, column));
    }
    [[nodiscard]] int int4(int row, int column) const { return read_int32(at(row, column)); }
    [[nodiscard]] bool boolean(int row, int column) const { return *at(row, column) != '\0'; }
    [[nodiscard]] Timestamp time(int row, int column) const {
        return from_postgres_time(int8(row, column));
    }
    // Empty for null.
    [[nodiscard]] std::string_view text(int row, int column) const {
        return {at(row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
    }
    [[nodiscard]] std::string string(int row, int column) const {
        return std::string(text(row, column));
    }
    // 0 for null.
    [[nodiscard]] std::int64_t id(int row, int column) const {
        return is_null(row, column) ? 0 : int8(row, column);
    }
    [[nodiscard]] std::optional<Timestamp> optional_time(int row, int column) const {
        if (is_null(row, column)) return std::nullopt;
        return time(row, column);
    }
    [[nodiscard]] std::optional<Json> optional_json(int row, int column) const {
        if (is_null(row, column)) return std::nullopt;
        return Json{string(row, column)};
    }
    // Empty for null. Null elements are 0, false or the empty text.
    [[nodiscard]] std::vector<bool> boolean_array(int row, int column) const;
    [[nodiscard]] std::vector<int> int4_array(int row, int column) const;
    [[nodiscard]] std::vector<std::int64_t> int8_array(int row, int column) const;
    [[nodiscard]] std::vector<std::string_view> text_array(int row, int column) const;
    [[nodiscard]] std::vector<std::optional<Timestamp>> time_array(int row, int column) const;

private:
    [[nodiscard]] const char* at(int row, int column) const {
        const char* value = PQgetvalue(result_.get(), row, column);
        if (value == nullptr) missing(row, column);
        return value;
    }
    [[noreturn]] void missing(int row, int column) const;

    PgResult result_;
};

}  // namespace pawl::postgres
