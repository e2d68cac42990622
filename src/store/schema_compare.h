// Compares a store's schema with the one that this library defines. Used by install() and verify().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pawl::store {

struct SchemaObject {
    std::string table;       // that it belongs to; empty for functions and views
    std::string definition;  // equal on both sides if the object is as the library defines it
    std::string restore;     // statements that create it again; empty: nothing can
};

struct SchemaObjectName {
    std::string kind;  // table, column, index, ...
    std::string name;
    auto operator<=>(const SchemaObjectName&) const = default;
};

using Catalogue = std::map<SchemaObjectName, SchemaObject>;

struct Difference {
    enum class What { missing, different, unknown };  // unknown: a column that pawl does not define

    What what = What::missing;
    SchemaObjectName object;
    SchemaObject expected;
    std::string found;  // its definition; empty if it is missing
};

// Objects of the user are not compared, except columns added to a table of pawl. A missing table
// stands for all that belongs to it.
[[nodiscard]] std::vector<Difference> compare(const Catalogue& found, const Catalogue& expected);

// "index messages_ready is missing", "column runs.priority is text, expected integer not null"
[[nodiscard]] std::string describe(const Difference& difference);

// FNV-1a, in hex: recognises text that has changed.
[[nodiscard]] std::string checksum(const std::vector<std::string_view>& texts);

}  // namespace pawl::store
