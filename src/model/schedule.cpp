#include "model/schedule.h"

#include <algorithm>
#include <fmt/format.h>
#include <pawl/error.h>
#include <string_view>

#include "model/check.h"
#include "model/cron.h"
#include "model/rules.h"

namespace pawl::model {

namespace {

// Iterates over the fire times of a schedule.
class FireTimes {
public:
    explicit FireTimes(const ScheduleInfo& schedule)
        : cron_(Cron::parse(schedule.cron)),
          clock_(schedule.time_zone),
          start_(schedule.start),
          end_(schedule.end) {}

    std::optional<Timestamp> next(Timestamp after) {
        if (start_) after = std::max(after, *start_ - std::chrono::microseconds(1));
        const auto found = cron_.next(after, clock_, start_.value_or(Timestamp{}));
        return found && end_ && *found > *end_ ? std::nullopt : found;
    }
    // The fire times after `after`, up to `last`.
    std::vector<Timestamp> between(Timestamp after, Timestamp last) {
        std::vector<Timestamp> times;
        for (auto at = next(after); at && *at <= last; at = next(*at)) times.push_back(*at);
        return times;
    }
    // The newest `count` fire times in that range. Searches backwards in growing spans, because the
    // range may cover years of a minutely schedule.
    std::vector<Timestamp> newest(Timestamp after, Timestamp last, std::size_t count) {
        for (std::chrono::microseconds span = std::chrono::hours(1);; span *= 4) {
            const bool all = last - after <= span;
            auto times = between(all ? after : last - span, last);
            if (!all && times.size() < count) continue;
            if (times.size() > count)
                times.erase(times.begin(), times.end() - static_cast<std::ptrdiff_t>(count));
            return times;
        }
    }

private:
    Cron cron_;
    base::WallClock clock_;
    std::optional<Timestamp> start_;
    std::optional<Timestamp> end_;
};

std::size_t catch_up_count(const ScheduleInfo& schedule) {
    switch (schedule.catch_up) {
        case CatchUp::none:
            return 0;
        case CatchUp::last:
            return 1;
        case CatchUp::all:
            return static_cast<std::size_t>(schedule.catch_up_limit);
    }
    return 0;
}

// 2026-11-16T02:30:00Z, with a fraction if it is not zero.
std::string text_of(Timestamp time) {
    const auto day = std::chrono::floor<std::chrono::days>(time);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(time - day);
    std::string text = fmt::format(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()),
        static_cast<unsigned>(date.day()),
        clock.hours().count(),
        clock.minutes().count(),
        clock.seconds().count()
    );
    if (clock.subseconds().count() != 0) text += fmt::format(".{:06}", clock.subseconds().count());
    return text + "Z";
}

// FNV-1a with a final mix: the same value on every machine.
std::uint64_t stable_hash(std::string_view text) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    hash = (hash ^ hash >> 33U) * 0xff51afd7ed558ccdU;
    return hash ^ hash >> 33U;
}

DueRun due_run(const ScheduleInfo& schedule, Timestamp fire_at) {
    DueRun due{fire_at, extra_run(schedule)};
    due.run.options.idempotency_key =
        fmt::format("schedule:{}:{}", schedule.name, text_of(fire_at));
    due.run.options.at = fire_at;
    if (schedule.jitter > Duration::zero()) {
        const auto spread = static_cast<std::uint64_t>(schedule.jitter.count());
        const auto late = stable_hash(*due.run.options.idempotency_key) % spread;
        due.run.options.at = fire_at + Duration(static_cast<Duration::rep>(late));
    }
    return due;
}

[[noreturn]] void refuse_schedule(const ScheduleInfo& schedule, std::string_view why) {
    throw Error(ErrorCode::invalid_argument, fmt::format("schedule '{}': {}", schedule.name, why));
}

void check_time(const ScheduleInfo& schedule, const std::optional<Timestamp>& time) {
    if (time && !is_storable(*time))
        refuse_schedule(
            schedule,
            fmt::format(
                "start and end must lie between the years {} and {}",
                rules::earliest_year,
                rules::latest_year
            )
        );
}

std::optional<Timestamp> none_at_epoch(Timestamp time) {
    if (time == Timestamp{}) return std::nullopt;
    return time;
}

}  // namespace

NewRun extra_run(const ScheduleInfo& schedule) {
    NewRun run{schedule.workflow, schedule.params, {}};
    run.options.priority = schedule.priority;
    run.options.tags = {"schedule:" + schedule.name};
    return run;
}

std::optional<Timestamp> next_fire(const ScheduleInfo& schedule, Timestamp after) {
    return FireTimes(schedule).next(after);
}

std::vector<Timestamp> next_fires(
    const ScheduleInfo& schedule, Timestamp after, std::size_t count
) {
    FireTimes all(schedule);
    std::vector<Timestamp> times;
    while (times.size() < count) {
        const auto next = all.next(after);
        if (!next) break;
        times.push_back(after = *next);
    }
    return times;
}

DueRuns due_runs(const ScheduleInfo& schedule, Timestamp now) {
    DueRuns due;
    if (schedule.waiting_fire_at) due.runs.push_back(due_run(schedule, *schedule.waiting_fire_at));
    due.next_fire_at = schedule.next_fire_at;
    if (!schedule.next_fire_at || *schedule.next_fire_at > now) return due;
    FireTimes times(schedule);
    const Timestamp before = *schedule.next_fire_at - std::chrono::microseconds(1);
    const Timestamp missed = now - missed_after - std::chrono::microseconds(1);
    if (const auto count = catch_up_count(schedule); count > 0 && missed > before) {
        for (const Timestamp at : times.newest(before, missed, count))
            due.runs.push_back(due_run(schedule, at));
    }
    for (const Timestamp at : times.between(std::max(before, missed), now))
        due.runs.push_back(due_run(schedule, at));
    due.next_fire_at = times.next(now);
    return due;
}

ScheduleInfo changed_by(ScheduleInfo schedule, const ScheduleOptions& options) {
    if (options.time_zone) schedule.time_zone = *options.time_zone;
    if (options.start) schedule.start = none_at_epoch(*options.start);
    if (options.end) schedule.end = none_at_epoch(*options.end);
    if (options.jitter) schedule.jitter = *options.jitter;
    if (options.priority) schedule.priority = *options.priority;
    if (options.overlap) schedule.overlap = *options.overlap;
    if (options.catch_up) schedule.catch_up = *options.catch_up;
    if (options.catch_up_limit) schedule.catch_up_limit = *options.catch_up_limit;
    return schedule;
}

bool same_times(const ScheduleInfo& one, const ScheduleInfo& other) {
    return one.cron == other.cron && one.time_zone == other.time_zone && one.start == other.start &&
           one.end == other.end;
}

void check_schedule(const ScheduleInfo& schedule, std::size_t max_payload_bytes) {
    check_name("schedule", schedule.name);
    check_size("the parameters", schedule.params.text.size(), max_payload_bytes);
    check_json(schedule.params.text);
    check_place(schedule.priority, Duration::zero(), std::nullopt);
    if (schedule.jitter < Duration::zero() || schedule.jitter > rules::longest_jitter)
        refuse_schedule(schedule, "jitter must be 0 to 365 days");
    if (schedule.catch_up_limit < 1 || schedule.catch_up_limit > rules::max_catch_up)
        refuse_schedule(
            schedule, fmt::format("catch_up_limit must be 1 to {}", rules::max_catch_up)
        );
    check_time(schedule, schedule.start);
    check_time(schedule, schedule.end);
    if (schedule.start && schedule.end && *schedule.end < *schedule.start)
        refuse_schedule(schedule, "its end is before its start");
    if (!next_fire(schedule, Timestamp{}))  // throws if cron or time zone are invalid
        refuse_schedule(schedule, "it never fires between its start and its end");
}

}  // namespace pawl::model
