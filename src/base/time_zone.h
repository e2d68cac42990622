// Local time of a place: the only face of the time zone database.
#pragma once

#include <chrono>
#include <pawl/types.h>
#include <string>

namespace date {  // NOLINT(readability-identifier-naming): not our name
class time_zone;
}

namespace pawl::base {

using LocalMinutes = std::chrono::local_time<std::chrono::minutes>;

// A clock on a wall in one time zone. Remembers the offset it used last, so that a walk through the
// year does not ask the database at every step; hence one per thread.
class WallClock {
public:
    // An IANA name, like Europe/London. Throws invalid_argument. UTC needs no database.
    explicit WallClock(const std::string& time_zone);

    // What it shows then, in whole minutes.
    [[nodiscard]] LocalMinutes local(Timestamp at);
    // When it shows that. What is shown twice (the clock was put back): the first time. What is
    // never shown (it was put forward): the end of the gap. So it never decreases.
    [[nodiscard]] Timestamp instant(LocalMinutes local);

private:
    struct Period {
        Timestamp begin;
        Timestamp end;
        std::chrono::seconds offset{0};
        std::chrono::seconds offset_before{0};  // of the period that ended when it began
    };
    void look_up(Timestamp at);

    const date::time_zone* zone_ = nullptr;  // none: UTC
    Period period_{Timestamp::min(), Timestamp::max()};
};

}  // namespace pawl::base
