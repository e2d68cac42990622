// The server's sessions of processes that are killed. The server still executes the last requests
// of a killed process: a claim or a heartbeat that it executes late extends a lease. So tests end
// leases of killed processes only after their sessions have ended.
#pragma once

#include <string>

#include "support/database.h"
#include "support/expect.h"
#include "support/place.h"

namespace pawl::test {

inline std::string session_name(const Place& place) {
    return "doomed_" + place.schema();
}
// The URL for such processes.
inline std::string doomed_url(const Place& place) {
    if (place.kind() != BackendKind::postgres) return place.url();
    return with_parameter(place.url(), "application_name=" + session_name(place));
}
// True once the server has no session of these processes. SQLite has no sessions.
inline bool sessions_have_ended(const Place& place, Database& database) {
    if (place.kind() != BackendKind::postgres) return true;
    return eventually([&] {
        return database.number(
                   "select count(*) from pg_stat_activity where datname = current_database() "
                   "and application_name = '" +
                   session_name(place) + "'"
               ) == 0;
    });
}

}  // namespace pawl::test
