// Compares a store's schema with the one that this library defines. Used by install() and verify().
#pragma once

#include <map>
#include <pawl/store.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store {

struct SchemaObject {
    std::string table;       // the table it belongs to; empty for functions and views
    std::string definition;  // equal on both sides if the object is unchanged
    std::string restore;     // statements that create it again; empty if that is impossible
};

struct SchemaObjectName {
    std::string kind;  // table, column, index, ...
    std::string name;
    auto operator<=>(const SchemaObjectName&) const = default;
};

using Catalogue = std::map<SchemaObjectName, SchemaObject>;

struct Difference {
    // Unknown is a column that pawl does not define.
    enum class What { missing, different, unknown };

    What what = What::missing;
    SchemaObjectName object;
    SchemaObject expected;
    std::string found;  // the found definition; empty if missing
};

// Ignores the user's objects, except columns added to a table of pawl. A missing table is one
// difference, without its parts.
[[nodiscard]] std::vector<Difference> compare(const Catalogue& found, const Catalogue& expected);

// "index messages_ready is missing", "column runs.priority is text, expected integer not null"
[[nodiscard]] std::string describe(const Difference& difference);

// What install() does about it: the one rule for verify(), which reports it, and for the repair.
[[nodiscard]] InstallAction planned_action(const Difference& difference);

[[nodiscard]] SchemaFinding to_finding(const Difference& difference);

// Why install() leaves it to people.
[[nodiscard]] std::string_view why_by_hand(const Difference& difference);

// The finding of a schema that is missing, or has another version than the newest.
[[nodiscard]] SchemaFinding version_finding(
    const std::string& name, int version, int newest, std::string problem
);

// FNV-1a in hexadecimal, to detect changed text.
[[nodiscard]] std::string checksum(const std::vector<std::string_view>& texts);

}  // namespace pawl::store
