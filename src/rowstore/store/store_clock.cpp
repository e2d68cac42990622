#include "rowstore/store/store_clock.h"

#include <chrono>

#include "rowstore/statements.h"

namespace pawl::rowstore {

std::optional<Timestamp> fixed_time(Session& session) {
    Rows rows = session.query(sql::fixed_clock);
    if (!rows.next()) return std::nullopt;
    return rows.time(0);
}

Timestamp current_time(Session& session) {
    if (const auto fixed = fixed_time(session)) return *fixed;
    return std::chrono::time_point_cast<Timestamp::duration>(std::chrono::system_clock::now());
}

int installed_version(Session& session) {
    {
        Rows exists = session.query(sql::schema_exists);
        if (!exists.next() || !exists.flag(0)) return 0;
    }
    Rows rows = session.query(sql::schema_version);
    return rows.next() ? rows.number(0) : 0;
}

}  // namespace pawl::rowstore
