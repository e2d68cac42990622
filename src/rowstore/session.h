// Runs named statements on a connection. The engine knows a database only through this; a driver
// implements it.
//
// If each request to the database is a round trip, the number of requests is what a call costs. The
// engine keeps it independent of the size of a batch by three rules:
// - a write whose result is not needed is posted;
// - queries that do not depend on each other are announced with prefetch() before the first
// query(), so that one request carries all of them;
// - if round_trips() is `costly`, the engine reads the fences of a batch as one set, decides in
//   C++ and posts the writes. Otherwise each item has its own fenced statement.
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

// A parameter of a statement. Holds a reference to its text.
class Value {
public:
    enum class Kind : std::uint8_t { null, integer, text };

    // NOLINTBEGIN(google-explicit-constructor): parameters are written as they are
    Value(std::nullopt_t) {}
    template <std::integral T>
    Value(T value) : kind_(Kind::integer), integer_(static_cast<std::int64_t>(value)) {}
    Value(std::string_view value) : kind_(Kind::text), text_(value) {}
    Value(Timestamp value) : Value(value.time_since_epoch().count()) {}
    template <class Tag>
    Value(Id<Tag> value) {  // an empty id is null
        if (value) *this = Value(value.value());
    }
    template <class T>
    Value(const std::optional<T>& value) {
        if (value) *this = Value(*value);
    }
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] Kind kind() const { return kind_; }
    [[nodiscard]] std::int64_t integer() const { return integer_; }
    [[nodiscard]] std::string_view text() const { return text_; }

private:
    Kind kind_ = Kind::null;
    std::int64_t integer_ = 0;
    std::string_view text_;
};

// A running statement of the driver.
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

// The rows of a running statement. Must not outlive the session. Each statement can have one at a
// time.
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
    // Valid until the next row; null is "".
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

// The cost of a request to the database, in addition to its statements.
enum class RoundTrips : std::uint8_t { free, costly };

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
    // next statement that has a result, or with the commit, and may report an error only then.
    template <class... Values>
    void post(const store::Statement& statement, const Values&... values) {
        assert(sizeof...(values) == static_cast<std::size_t>(statement.parameters));
        const std::array<Value, sizeof...(values)> parameters{Value(values)...};
        run_later(statement, parameters);
    }
    // Announces a query. A driver may send it with the next statement that has a result, in the
    // order of the calls, and keep the answer until query() is called with the same parameters.
    // Each announcement is for one query(), and nothing may change the answer in between. A write
    // with `returning` may be announced if its query() always follows.
    template <class... Values>
    void prefetch(const store::Statement& statement, const Values&... values) {
        if (round_trips() == RoundTrips::free) return;
        assert(sizeof...(values) == static_cast<std::size_t>(statement.parameters));
        const std::array<Value, sizeof...(values)> parameters{Value(values)...};
        open_later(statement, parameters);
    }
    [[nodiscard]] RoundTrips round_trips() const { return round_trips_; }

protected:
    explicit Session(RoundTrips round_trips) : round_trips_(round_trips) {}

private:
    // The parameters are valid only during the call.
    [[nodiscard]] virtual Cursor& open(
        const store::Statement& statement, std::span<const Value> parameters
    ) = 0;
    virtual std::int64_t run(
        const store::Statement& statement, std::span<const Value> parameters
    ) = 0;
    virtual void run_later(const store::Statement& statement, std::span<const Value> parameters) {
        run(statement, parameters);
    }
    // Called only if round trips are costly.
    virtual void open_later(
        const store::Statement& /*statement*/, std::span<const Value> /*parameters*/
    ) {}
    [[nodiscard]] virtual std::int64_t last_id() const = 0;  // of the row that was inserted last

    const RoundTrips round_trips_ = RoundTrips::free;
};

[[nodiscard]] inline std::optional<std::int64_t> optional_milliseconds(
    const std::optional<Duration>& duration
) {
    if (!duration) return std::nullopt;
    return duration->count();
}

}  // namespace pawl::rowstore
