// Local times, from the time zone database. Nothing else includes the database's header.
#pragma once

#include <chrono>
#include <pawl/types.h>
#include <string>

namespace date {  // NOLINT(readability-identifier-naming): not our name
class time_zone;
}

namespace pawl::base {

using LocalMinutes = std::chrono::local_time<std::chrono::minutes>;

// The wall clock of one time zone. It caches the current offset, so that iterating over times does
// not query the database at every step. Not thread-safe.
class WallClock {
public:
    // An IANA name, like Europe/London. Throws invalid_argument. UTC needs no database.
    explicit WallClock(const std::string& time_zone);

    // The local time at that instant, in whole minutes.
    [[nodiscard]] LocalMinutes local(Timestamp at);
    // The instant at which the clock shows `local`. Ambiguous times (the clock was set back) give
    // the first instant, skipped times (it was set forward) the end of the gap, so the result never
    // decreases.
    [[nodiscard]] Timestamp instant(LocalMinutes local);

private:
    struct Period {
        Timestamp begin;
        Timestamp end;
        std::chrono::seconds offset{0};
        std::chrono::seconds offset_before{0};  // the offset of the previous period
    };
    void look_up(Timestamp at);

    const date::time_zone* zone_ = nullptr;  // null means UTC
    Period period_{Timestamp::min(), Timestamp::max()};
};

}  // namespace pawl::base
