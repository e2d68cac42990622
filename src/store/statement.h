// SQL from sql/, embedded at build time by tools/embed_sql.py. Errors and logs contain the names.
#pragma once

#include <span>
#include <string_view>

namespace pawl::store {

struct Statement {
    std::string_view name;
    std::string_view text;
    int parameters;
    std::span<const std::string_view> columns = {};  // of the row in sql/rows.txt, if any
};

struct Migration {
    int version;
    std::string_view name;
    std::string_view text;
};

}  // namespace pawl::store
