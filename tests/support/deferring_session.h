// A session like that of a remote driver: it keeps posted writes and announced queries, and sends
// them with the next statement that has a result, or with the commit. Counts these requests.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sqlite/session.h"

namespace pawl::test {

// The parameters of a statement, with copies of their texts.
class KeptParameters {
public:
    explicit KeptParameters(std::span<const rowstore::Value> parameters);
    // Values that refer to this object.
    [[nodiscard]] std::vector<rowstore::Value> values() const;
    [[nodiscard]] bool operator<(const KeptParameters& other) const {
        return parameters_ < other.parameters_;
    }

private:
    struct Parameter {
        rowstore::Value::Kind kind;
        std::int64_t integer;
        std::string text;
        [[nodiscard]] auto operator<=>(const Parameter&) const = default;
    };
    std::vector<Parameter> parameters_;
};

// All rows of an answer: later writes do not change them.
class KeptRows final : public rowstore::Cursor {
public:
    explicit KeptRows(sqlite::PreparedStatement& statement);

    [[nodiscard]] bool next() override { return ++row_ < static_cast<int>(rows_.size()); }
    [[nodiscard]] bool null(int column) const override { return !at(column).has_value(); }
    [[nodiscard]] std::int64_t integer(int column) const override;
    [[nodiscard]] std::string_view text(int column) const override;
    void close() noexcept override {}

private:
    using Field = std::optional<std::string>;
    [[nodiscard]] const Field& at(int column) const;

    std::vector<std::vector<Field>> rows_;
    int row_ = -1;
};

class DeferringSession final : public sqlite::Session {
public:
    DeferringSession(
        sqlite3* connection,
        sqlite::ErrorContext context,
        rowstore::RoundTrips round_trips,
        std::atomic<int>& requests
    )
        : sqlite::Session(connection, std::move(context), round_trips), requests_(requests) {}

    // Sends what is kept, before the commit.
    void flush();

private:
    [[nodiscard]] rowstore::Cursor& open(
        const store::Statement& statement, std::span<const rowstore::Value> parameters
    ) override;
    std::int64_t run(const store::Statement& statement, std::span<const rowstore::Value> parameters)
        override;
    void run_later(const store::Statement& statement, std::span<const rowstore::Value> parameters)
        override;
    void open_later(const store::Statement& statement, std::span<const rowstore::Value> parameters)
        override;
    [[nodiscard]] KeptRows ask(
        const store::Statement& statement, std::span<const rowstore::Value> parameters
    );

    enum class Kind { write, query };
    struct Kept {
        Kind kind;
        store::Statement statement;
        KeptParameters parameters;
    };
    using Key = std::pair<const char*, KeptParameters>;  // the address of the statement's name

    std::atomic<int>& requests_;
    std::vector<Kept> kept_;
    std::map<Key, std::deque<KeptRows>> answers_;
    std::map<const char*, KeptRows> open_;  // the last answer of each statement
};

}  // namespace pawl::test
