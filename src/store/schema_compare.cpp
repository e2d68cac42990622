#include "store/schema_compare.h"

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>

namespace pawl::store {

namespace {

using What = Difference::What;

bool has_table(const Catalogue& catalogue, const std::string& table) {
    return catalogue.contains({"table", table});
}

// On SQLite a table's definition repeats its columns; the difference of the column is more precise.
void drop_tables_with_different_columns(std::vector<Difference>& differences) {
    const auto columns = differences;
    std::erase_if(differences, [&](const Difference& table) {
        return table.object.kind == "table" && table.what == What::different &&
               std::ranges::any_of(columns, [&](const Difference& other) {
                   return other.object.kind == "column" &&
                          other.expected.table == table.object.name;
               });
    });
}

// Functions and views are too long to print.
bool is_printed(std::string_view kind) {
    return kind == "column" || kind == "index" || kind == "constraint" || kind == "setting";
}

}  // namespace

std::vector<Difference> compare(const Catalogue& found, const Catalogue& expected) {
    std::vector<Difference> differences;
    for (const auto& [name, object] : expected) {
        if (name.kind != "table" && !object.table.empty() && !has_table(found, object.table))
            continue;
        const auto at = found.find(name);
        if (at == found.end()) {
            differences.push_back({What::missing, name, object, {}});
        } else if (at->second.definition != object.definition) {
            differences.push_back({What::different, name, object, at->second.definition});
        }
    }
    for (const auto& [name, object] : found) {
        if (name.kind == "column" && has_table(expected, object.table) && !expected.contains(name))
            differences.push_back({What::unknown, name, {object.table, {}, {}}, object.definition});
    }
    drop_tables_with_different_columns(differences);
    return differences;
}

std::string describe(const Difference& difference) {
    const auto& [kind, name] = difference.object;
    switch (difference.what) {
        case What::missing:
            return fmt::format("{} {} is missing", kind, name);
        case What::unknown:
            return fmt::format("{} {} is not part of pawl's schema", kind, name);
        case What::different:
            break;
    }
    if (!is_printed(kind)) return fmt::format("{} {} is different", kind, name);
    return fmt::format(
        "{} {} is {}, expected {}", kind, name, difference.found, difference.expected.definition
    );
}

// Functions and views are created by the scripts of the library, other objects by their own
// statements.
InstallAction planned_action(const Difference& difference) {
    if (difference.what == What::unknown) return InstallAction::keep;
    const std::string& kind = difference.object.kind;
    const bool has_script = kind == "function" || kind == "view";
    if (!has_script && difference.expected.restore.empty()) return InstallAction::by_hand;
    return difference.what == What::missing ? InstallAction::create : InstallAction::replace;
}

SchemaFinding to_finding(const Difference& difference) {
    const auto& [kind, name] = difference.object;
    return {kind, name, describe(difference), planned_action(difference)};
}

std::string_view why_by_hand(const Difference& difference) {
    return difference.what == What::missing
               ? "its data are lost, restore them from a backup (docs/restore.md)"
               : "change it back by hand";
}

SchemaFinding version_finding(
    const std::string& name, int version, int newest, std::string problem
) {
    const auto action = version == 0       ? InstallAction::create
                        : version < newest ? InstallAction::migrate
                                           : InstallAction::by_hand;
    return {"schema", name, std::move(problem), action};
}

std::string checksum(const std::vector<std::string_view>& texts) {
    std::uint64_t hash = 14695981039346656037ULL;
    for (const auto text : texts) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
    }
    return fmt::format("{:016x}", hash);
}

}  // namespace pawl::store
