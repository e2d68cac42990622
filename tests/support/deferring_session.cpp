#include "support/deferring_session.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace pawl::test {

using rowstore::Cursor;
using rowstore::Value;

KeptParameters::KeptParameters(std::span<const Value> parameters) {
    parameters_.reserve(parameters.size());
    for (const Value& value : parameters)
        parameters_.push_back({value.kind(), value.integer(), std::string(value.text())});
}

std::vector<Value> KeptParameters::values() const {
    std::vector<Value> values;
    for (const auto& [kind, integer, text] : parameters_) {
        switch (kind) {
            case Value::Kind::null:
                values.emplace_back(std::nullopt);
                break;
            case Value::Kind::integer:
                values.emplace_back(integer);
                break;
            case Value::Kind::text:
                values.emplace_back(std::string_view(text));
                break;
        }
    }
    return values;
}

KeptRows::KeptRows(sqlite::PreparedStatement& statement) {
    rowstore::Rows rows(statement);
    while (rows.next()) {
        auto& row = rows_.emplace_back();
        for (int column = 0; column < statement.columns(); ++column) {
            row.emplace_back();
            if (!rows.null(column)) row.back() = std::string(rows.text(column));
        }
    }
}

const KeptRows::Field& KeptRows::at(int column) const {
    return rows_.at(static_cast<std::size_t>(row_)).at(static_cast<std::size_t>(column));
}

std::int64_t KeptRows::integer(int column) const {
    const Field& field = at(column);
    return field ? std::strtoll(field->c_str(), nullptr, 10) : 0;
}

std::string_view KeptRows::text(int column) const {
    const Field& field = at(column);
    return field ? std::string_view(*field) : std::string_view();
}

// In the order of the calls. An error rolls back the transaction, so the remaining ones are
// dropped.
void DeferringSession::flush() {
    const auto kept = std::exchange(kept_, {});
    for (const auto& [kind, statement, parameters] : kept) {
        if (kind == Kind::write) {
            sqlite::Session::run(statement, parameters.values());
        } else {
            answers_[{statement.name.data(), parameters}].push_back(
                ask(statement, parameters.values())
            );
        }
    }
}

KeptRows DeferringSession::ask(
    const store::Statement& statement, std::span<const Value> parameters
) {
    return KeptRows(
        static_cast<sqlite::PreparedStatement&>(sqlite::Session::open(statement, parameters))
    );
}

Cursor& DeferringSession::open(
    const store::Statement& statement, std::span<const Value> parameters
) {
    const char* const name = statement.name.data();
    const Key key{name, KeptParameters(parameters)};
    const auto is_this = [&](const Kept& kept) {
        return kept.kind == Kind::query && kept.statement.name.data() == name &&
               !(kept.parameters < key.second) && !(key.second < kept.parameters);
    };
    auto found = answers_.find(key);
    if (found == answers_.end()) {
        const bool announced = std::ranges::any_of(kept_, is_this);
        if (!announced) open_later(statement, parameters);
        ++requests_;
        flush();
        found = answers_.find(key);
    }
    KeptRows rows = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty()) answers_.erase(found);
    return open_.insert_or_assign(name, std::move(rows)).first->second;
}

std::int64_t DeferringSession::run(
    const store::Statement& statement, std::span<const Value> parameters
) {
    flush();
    ++requests_;
    return sqlite::Session::run(statement, parameters);
}

void DeferringSession::run_later(
    const store::Statement& statement, std::span<const Value> parameters
) {
    kept_.push_back({Kind::write, statement, KeptParameters(parameters)});
}

void DeferringSession::open_later(
    const store::Statement& statement, std::span<const Value> parameters
) {
    kept_.push_back({Kind::query, statement, KeptParameters(parameters)});
}

}  // namespace pawl::test
