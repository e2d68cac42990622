// Runs named statements on a connection. The engine knows a database only through this; a driver
// implements it.
#pragma once

#include <array>
#include <cassert>
#include <concepts>
#include <cstdint>
#include <optional>
#include <pawl/types.h>
#include <span>
#include <string>
#include <string_view>

#include "store/statement.h"

namespace pawl::rowstore {

// A parameter of a statement. Refers to its text.
class Value {
public:
    enum class Kind : std::uint8_t { null, integer, text };

    Value(std::nullopt_t) {}  // NOLINT(google-explicit-constructor): and those below
    template <std::integral T>
    Value(T value) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(value)) {}
    Value(std::string_view value) : kind_(Kind::text), text_(value) {}
    Value(Timestamp value) : Value(value.time_since_epoch().count()) {}
    template <class Tag>
    Value(Id<Tag> value) {  // no id is null
        if (value) *this = Value(value.value());
    }
    template <class T>
    Value(const std::optional<T>& value) {
        if (value) *this = Value(*value);
    }

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] std::int64_t integer() const { return integer_; }
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    Kind kind_ = Kind::null;
    std::int64_t integer_ = 0;
    std::string_view text_;
};

// A running statement, as the driver has it.
class Cursor {
public:
    [[nodiscard]] virtual bool next() = 0;
    [[nodiscard]] virtual bool null(int column) const = 0;
    [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
    [[nodiscard]] virtual std::string_view text(int column) const = 0;  // null is ""
    virtual void close() noexcept = 0;  // the statement may be run again

protected:
    ~Cursor() = default;
};

// The rows of a running statement. Must not outlive the session, and there is one at a time for
// each statement.
class Rows {
public:
    explicit Rows(Cursor& cursor) : cursor_(cursor) {}
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;
    ~Rows() { cursor_.close(); }

    [[nodiscard]] bool next() { return cursor_.next(); }
    [[nodiscard]] bool null(int column) const { return cursor_.null(column); }
    [[nodiscard]] std::int64_t integer(int column) const { return cursor_.integer(column); }
    [[nodiscard]] int number(int column) const { return static_cast<int>(integer(column)); }
    [[nodiscard]] bool flag(int column) const { return integer(column) != 0; }
    // Until the next row; null is "".
    [[nodiscard]] std::string_view text(int column) const { return cursor_.text(column); }
    [[nodiscard]] Timestamp time(int column) const {
        return Timestamp(Timestamp::duration(integer(column)));
    }
    [[nodiscard]] std::optional<Timestamp> optional_time(int column) const {
        if (null(column)) return std::nullopt;
        return time(column);
    }
    [[nodiscard]] std::optional<Json> optional_json(int column) const {
        if (null(column)) return std::nullopt;
        return Json{std::string(text(column))};
    }
    template <class AnyId>
    [[nodiscard]] AnyId id(int column) const {
        return AnyId(integer(column));
    }

private:
    Cursor& cursor_;
};

class Session {
public:
    Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    virtual ~Session() = default;

    template <class... Values>
    [[nodiscard]] Rows query(const store::Statement& statement, const Values&... values) {
        assert(sizeof...(values) == static_cast<std::size_t>(statement.parameters));
        const std::array<Value, sizeof...(values)> parameters{Value(values)...};
        return Rows(open(statement, parameters));
    }
    // Returns how many rows it changed.
    template <class... Values>
    std::int64_t execute(const store::Statement& statement, const Values&... values) {
        assert(sizeof...(values) == static_cast<std::size_t>(statement.parameters));
        const std::array<Value, sizeof...(values)> parameters{Value(values)...};
        return run(statement, parameters);
    }
    // Returns the id of the new row.
    template <class... Values>
    std::int64_t insert(const store::Statement& statement, const Values&... values) {
        execute(statement, values...);
        return last_id();
    }
    // For a write whose result the caller does not need. A driver may send it together with the
    // next statement that has a result, or with the commit. It may report an error only then.
    template <class... Values>
    void post(const store::Statement& statement, const Values&... values) {
        assert(sizeof...(values) == static_cast<std::size_t>(statement.parameters));
        const std::array<Value, sizeof...(values)> parameters{Value(values)...};
        run_later(statement, parameters);
    }

private:
    // The parameters live only as long as the call.
    [[nodiscard]] virtual Cursor& open(
        const store::Statement& statement, std::span<const Value> parameters
    ) = 0;
    virtual std::int64_t run(
        const store::Statement& statement, std::span<const Value> parameters
    ) = 0;
    virtual void run_later(const store::Statement& statement, std::span<const Value> parameters) {
        run(statement, parameters);
    }
    [[nodiscard]] virtual std::int64_t last_id() const = 0;  // of the row that was inserted last
};

[[nodiscard]] inline std::optional<std::int64_t> optional_milliseconds(
    const std::optional<Duration>& duration
) {
    if (!duration) return std::nullopt;
    return duration->count();
}

}  // namespace pawl::rowstore
