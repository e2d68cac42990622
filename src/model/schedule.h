// Computes the due runs of a schedule, and checks schedules before they are stored. No I/O, no
// clock.
#pragma once

#include <cstddef>
#include <optional>
#include <pawl/schedule.h>
#include <pawl/workflow.h>
#include <string>
#include <vector>

#include "base/literals.h"

namespace pawl::model {

// A fire time older than this counts as missed; the catch-up policy applies.
inline constexpr Duration missed_after = 60s;

struct DueRun {
    Timestamp fire_at;
    // Its key is derived from schedule and fire time, so each fire time creates one run.
    NewRun run;
};
struct DueRuns {
    std::vector<DueRun> runs;  // by fire time; a run that waited for the end of another comes first
    std::optional<Timestamp> next_fire_at;
};
[[nodiscard]] DueRuns due_runs(const ScheduleInfo& schedule, Timestamp now);

// The first fire time after `after`, between start and end; nullopt if it never fires again.
[[nodiscard]] std::optional<Timestamp> next_fire(const ScheduleInfo& schedule, Timestamp after);
[[nodiscard]] std::vector<Timestamp> next_fires(
    const ScheduleInfo& schedule, Timestamp after, std::size_t count
);

// An additional run, independent of the fire times.
[[nodiscard]] NewRun extra_run(const ScheduleInfo& schedule);

// `schedule` with the given options applied.
[[nodiscard]] ScheduleInfo changed_by(ScheduleInfo schedule, const ScheduleOptions& options);
// True if both have the same fire times.
[[nodiscard]] bool same_times(const ScheduleInfo& one, const ScheduleInfo& other);
void check_schedule(const ScheduleInfo& schedule, std::size_t max_payload_bytes);

}  // namespace pawl::model
