// Schedules: runs that start by themselves, by cron or at intervals.
//
//   store.schedule("nightly", "report", "30 2 * * mon-fri", params, {.time_zone = "Asia/Kolkata"});
//   store.schedule("poll", "fetch", "@every 5m", params);
//
// No leader: any worker of the store may fire a schedule, and a fire time makes one run, whatever
// crashes or races.
#pragma once

#include <optional>
#include <pawl/run.h>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

/// What happens at a fire time while the schedule's last run is still live. queue_one: one run
/// waits for its end, further fire times are left out.
enum class Overlap { allow, skip, queue_one };
[[nodiscard]] std::string_view to_string(Overlap overlap);  ///< allow, skip, queue-one

/// Fire times that passed while no worker was there. last: the last of them; all: each, the newest
/// catch_up_limit of them.
enum class CatchUp { none, last, all };
[[nodiscard]] std::string_view to_string(CatchUp catch_up);

/// Only what is given is changed; schedule() on an existing schedule keeps the rest.
struct ScheduleOptions {
    std::optional<std::string> time_zone = {};  ///< an IANA name; default UTC
    std::optional<Timestamp> start = {};        ///< no fire time before; the epoch: none
    std::optional<Timestamp> end = {};          ///< none after; the epoch: none
    /// Runs start up to that much later, by an amount that depends on schedule and fire time only.
    std::optional<Duration> jitter = {};
    std::optional<int> priority = {};
    std::optional<Overlap> overlap = {};     ///< default allow
    std::optional<CatchUp> catch_up = {};    ///< default last
    std::optional<int> catch_up_limit = {};  ///< of CatchUp::all; default 100
};

/// A schedule as it is stored.
struct ScheduleInfo {
    std::string name;
    std::string workflow;
    std::string cron;
    std::string time_zone;
    Json params;
    std::optional<Timestamp> start;
    std::optional<Timestamp> end;
    Duration jitter{0};
    int priority = 0;
    Overlap overlap = Overlap::allow;
    CatchUp catch_up = CatchUp::last;
    int catch_up_limit = 100;
    bool paused = false;
    std::optional<Timestamp> next_fire_at;  ///< none: paused, or over
    std::optional<Timestamp> last_fire_at;  ///< the fire time of the last run
    RunId last_run;
    std::optional<Timestamp> waiting_fire_at;  ///< Overlap::queue_one: waits for the last run's end
    Timestamp created_at;
};

/// The next `count` fire times after `after`. cron: five fields (minute hour day month weekday)
/// with lists, ranges, steps and names; @hourly @daily @midnight @weekly @monthly @yearly
/// @annually; or
/// "@every 90s" (ms, s, m, h, d), counted from the epoch. A local time that summer time skips fires
/// once, when the gap ends; one that it repeats fires once, the first time. Throws
/// invalid_argument, which points at the field.
[[nodiscard]] std::vector<Timestamp> next_fire_times(
    const std::string& cron, const std::string& time_zone, Timestamp after, int count
);
/// The same of a schedule, between its start and its end. An interval is counted from the start.
[[nodiscard]] std::vector<Timestamp> next_fire_times(
    const ScheduleInfo& schedule, Timestamp after, int count
);

}  // namespace pawl
