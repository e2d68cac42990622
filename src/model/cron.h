// When a schedule fires: five cron fields, a nickname for five fields, or an interval.
//
//   cron.next(after, clock)    the first fire time after that, by the wall clock of a time zone
//
// Fields: minute hour day month weekday; each "*", a value, a range a-b, a step "*/n" or "a-b/n"
// ("a/n": from a on), or a list of these. Months and weekdays also by name; Sunday is 0 and 7. As
// in cron, if day and weekday are both restricted (neither begins with "*"), either may match.
#pragma once

#include <cstdint>
#include <optional>
#include <pawl/types.h>
#include <string>
#include <string_view>

#include "base/time_zone.h"

namespace pawl::model {

class Cron {
public:
    // Throws invalid_argument with the number of the wrong field.
    [[nodiscard]] static Cron parse(std::string_view text);

    // Nullopt if it never fires (again). Intervals are counted from `origin` and ignore the clock.
    [[nodiscard]] std::optional<Timestamp> next(
        Timestamp after, base::WallClock& clock, Timestamp origin = {}
    ) const;

private:
    friend class CronParser;

    [[nodiscard]] std::optional<Timestamp> next_interval(Timestamp after, Timestamp origin) const;
    // The first local minute not before `from` whose fields match.
    [[nodiscard]] std::optional<base::LocalMinutes> match(base::LocalMinutes from) const;
    [[nodiscard]] bool day_matches(std::chrono::year_month_day date) const;

    // Sets of numbers: bit n is set if n is in the set.
    std::uint64_t minutes_ = 0;
    std::uint64_t hours_ = 0;
    std::uint64_t days_ = 0;
    std::uint64_t months_ = 0;
    std::uint64_t weekdays_ = 0;
    bool either_day_ = false;  // day and weekday are both restricted
    Duration every_{0};        // above 0 for an interval instead of fields
};

}  // namespace pawl::model
