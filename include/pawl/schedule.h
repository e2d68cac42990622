// Schedules: runs that are triggered by cron expressions or at intervals.
//
//   store.create_schedule("nightly", "report", "30 2 * * mon-fri", params,
//                         {.time_zone = "Asia/Kolkata"});
//   store.create_schedule("poll", "fetch", "@every 5m", params);
//
// There is no leader: any worker of the store may fire a schedule, and each fire time creates one
// run, whatever crashes or races.
#pragma once

#include <optional>
#include <pawl/export.h>
#include <pawl/run.h>
#include <pawl/types.h>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::inline v0 {

/// What happens at a fire time while the schedule's last run is live. allow: another run is
/// created. skip: none is created. queue_one: one run waits for the end of the last one, and
/// further fire times are skipped.
enum class Overlap { allow, skip, queue_one };
/// The name: "allow", "skip", "queue-one".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(Overlap overlap);

/// What happens to fire times that passed while no worker ran. none: they are skipped. last: the
/// last of them fires. all: the newest catch_up_limit of them fire.
enum class CatchUp { none, last, all };
/// The name: "none", "last", "all".
[[nodiscard]] PAWL_EXPORT std::string_view to_string(CatchUp catch_up);

/// The options of Store::create_schedule(). On an existing schedule only the fields that are set
/// are changed.
struct ScheduleOptions {
    std::optional<std::string> time_zone = {};  ///< an IANA name; default UTC
    std::optional<Timestamp> start = {};  ///< no fire time before it; Timestamp{} removes the limit
    std::optional<Timestamp> end = {};    ///< no fire time after it; Timestamp{} removes the limit
    /// Runs start up to this much later, by an amount that depends on schedule and fire time only.
    std::optional<Duration> jitter = {};
    std::optional<int> priority = {};        ///< of its runs; default 0
    std::optional<Overlap> overlap = {};     ///< default allow
    std::optional<CatchUp> catch_up = {};    ///< default last
    std::optional<int> catch_up_limit = {};  ///< for CatchUp::all; default 100
};

/// A schedule as it is stored. ScheduleOptions describes the fields that it shares.
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
    std::optional<Timestamp> next_fire_at;  ///< not set if it is paused or has ended
    std::optional<Timestamp> last_fire_at;  ///< the fire time of the last run
    RunId last_run;
    std::optional<Timestamp> waiting_fire_at;  ///< Overlap::queue_one: waits for the last run's end
    Timestamp created_at;
};

/// The next `count` fire times after `after`. Does no I/O.
///
/// cron has five fields (minute hour day month weekday) with lists, ranges, steps and names; or it
/// is one of "@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"; or
/// "@every 90s" (units ms, s, m, h, d), counted from the epoch. A local time that daylight saving
/// skips fires once, when the gap ends; one that it repeats fires once, the first time. Throws
/// invalid_argument, which names the field.
[[nodiscard]] PAWL_EXPORT std::vector<Timestamp> next_fire_times(
    std::string_view cron, std::string_view time_zone, Timestamp after, int count
);
/// The same for a stored schedule, between its start and its end. Intervals count from the start.
[[nodiscard]] PAWL_EXPORT std::vector<Timestamp> next_fire_times(
    const ScheduleInfo& schedule, Timestamp after, int count
);

}  // namespace pawl::inline v0
