#include "base/time_zone.h"

#include <algorithm>
#include <date/tz.h>
#include <fmt/format.h>
#include <pawl/error.h>

namespace pawl::base {

namespace {

const date::time_zone* find_zone(const std::string& name) {
    if (name == "UTC") return nullptr;
    try {
        return date::locate_zone(name);
    } catch (const std::exception&) {
        throw Error(
            ErrorCode::invalid_argument,
            fmt::format(
                "unknown time zone '{}': use an IANA name like Europe/London", name.substr(0, 100)
            )
        );
    }
}

// The first and the last period of the database exceed the range of a Timestamp.
Timestamp in_range(date::sys_seconds time) {
    constexpr std::chrono::seconds limit(std::chrono::hours(24LL * 365 * 20'000));
    return Timestamp(std::clamp(time.time_since_epoch(), -limit, limit));
}

}  // namespace

WallClock::WallClock(const std::string& time_zone) : zone_(find_zone(time_zone)) {
    if (zone_ == nullptr) return;
    period_.end = period_.begin;  // an empty period: the first call looks it up
    look_up(Timestamp{});
}

void WallClock::look_up(Timestamp at) {
    if (at >= period_.begin && at < period_.end) return;
    const auto info = zone_->get_info(std::chrono::floor<std::chrono::seconds>(at));
    period_ = {in_range(info.begin), in_range(info.end), info.offset, info.offset};
    if (period_.begin > Timestamp{} - std::chrono::years(1000))
        period_.offset_before = zone_->get_info(info.begin - std::chrono::seconds(1)).offset;
}

LocalMinutes WallClock::local(Timestamp at) {
    if (zone_ != nullptr) look_up(at);
    return LocalMinutes(
        std::chrono::floor<std::chrono::minutes>(at.time_since_epoch() + period_.offset)
    );
}

Timestamp WallClock::instant(LocalMinutes local) {
    const Timestamp guess(local.time_since_epoch() - period_.offset);
    if (zone_ == nullptr) return guess;
    // The clock shows `local` within this period, and had not shown it at the end of the previous
    // one.
    const bool here = guess >= period_.begin && guess < period_.end;
    if (here && guess + period_.offset - period_.offset_before >= period_.begin) return guess;
    const auto info = zone_->get_info(date::local_seconds(local.time_since_epoch()));
    if (info.result == date::local_info::nonexistent) return Timestamp(info.first.end);
    return Timestamp(local.time_since_epoch() - info.first.offset);  // `first` is the earlier one
}

}  // namespace pawl::base
