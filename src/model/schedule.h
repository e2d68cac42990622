// What is due of a schedule, and what is checked before one is stored. No I/O, no clock.
#pragma once

#include <cstddef>
#include <optional>
#include <pawl/schedule.h>
#include <pawl/workflow.h>
#include <string>
#include <vector>

namespace pawl::model {

// A fire time that passed longer ago than that was missed: the catch-up policy decides about it.
inline constexpr Duration missed_after = 60s;

struct DueRun {
    Timestamp fire_at;
    NewRun run;  // its key comes from schedule and fire time: a fire time makes one run
};
struct DueRuns {
    std::vector<DueRun> runs;  // by fire time; what waited for the end of a run is the first
    std::optional<Timestamp> next_fire_at;
};
[[nodiscard]] DueRuns due_runs(const ScheduleInfo& schedule, Timestamp now);

// The first fire time after that, between start and end; none where it is over.
[[nodiscard]] std::optional<Timestamp> next_fire(const ScheduleInfo& schedule, Timestamp after);
[[nodiscard]] std::vector<Timestamp> next_fires(
    const ScheduleInfo& schedule, Timestamp after, std::size_t count
);

// One run more, beside the fire times.
[[nodiscard]] NewRun extra_run(const ScheduleInfo& schedule);

// `schedule` with what the options give changed.
[[nodiscard]] ScheduleInfo changed_by(ScheduleInfo schedule, const ScheduleOptions& options);
// True where both have the same fire times.
[[nodiscard]] bool same_times(const ScheduleInfo& one, const ScheduleInfo& other);
void check_schedule(const ScheduleInfo& schedule, std::size_t max_payload_bytes);

}  // namespace pawl::model
