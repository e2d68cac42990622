#include "runtime/services/scheduler.h"

#include <algorithm>
#include <fmt/format.h>

#include "model/schedule.h"
#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int batch_size = 100;
// The poll interval without wake-ups, unless the store's poll_interval is longer.
constexpr Duration poll_at_least_every = 30s;
constexpr Duration check_waiting_every = 1s;  // for the end of the run that they wait for
constexpr Duration retry_after_lost_race = 100ms;
// On SQLite every commit of another process is a wake-up.
constexpr Duration fire_at_most_every = 100ms;

}  // namespace

Scheduler::~Scheduler() {
    stop();
}

void Scheduler::start(ServiceTimer& timer) {
    const std::lock_guard lock(lifecycle_);
    if (service_) return;
    seam::WakeHub& hub = backend_.wake_hub();
    outage_.emplace(backend_.outage());
    service_.emplace(timer, "scheduler", [this](Clock::time_point now) { return tick(now); });
    // Registered before the first tick, so that no wake-up is missed.
    wakeups_.emplace(hub, seam::schedules_changed, [this] {
        service_->run_by(ticked_at_.load() + fire_at_most_every);
    });
    service_->start();
}

void Scheduler::stop() {
    const std::lock_guard lock(lifecycle_);
    wakeups_.reset();
    service_.reset();
    outage_.reset();
}

Clock::time_point Scheduler::tick(Clock::time_point now) {
    ticked_at_ = now;
    Duration pause = pause_after_error;
    try {
        pause = fire_due();
        outage_->succeeded();
    } catch (const std::exception& error) {
        if (!outage_->failed(error))
            backend_.log().warning(
                fmt::format("firing of schedules failed, retrying: {}", error.what())
            );
    }
    return Clock::now() + pause;
}

Duration Scheduler::fire_due() {
    const std::lock_guard lock(fire_mutex_);
    // Schedules that cannot be fired here stay due and must not hide the others.
    const int limit = batch_size + broken_;
    const auto found = backend_.due_schedules(limit);
    broken_ = 0;
    std::optional<Timestamp> next_due = found.next_due;
    Duration pause = std::max(poll_at_least_every, backend_.options().poll_interval);
    if (found.waiting) pause = check_waiting_every;
    for (const seam::StoredSchedule& schedule : found.due) {
        const Fired fired = fire(schedule, found.now);
        if (fired.outcome == Outcome::broken) ++broken_;
        if (fired.outcome == Outcome::lost_race) pause = std::min(pause, retry_after_lost_race);
        if (schedule.info.overlap == Overlap::queue_one)
            pause = std::min(pause, check_waiting_every);
        if (fired.next && (!next_due || *fired.next < *next_due)) next_due = fired.next;
    }
    if (static_cast<int>(found.due.size()) >= limit) return Duration::zero();
    if (!next_due) return pause;
    const auto until = std::chrono::ceil<Duration>(*next_due - found.now);
    return std::clamp<Duration>(until, 1ms, pause);
}

Scheduler::Fired Scheduler::fire(const seam::StoredSchedule& schedule, Timestamp now) {
    try {
        model::DueRuns due = model::due_runs(schedule.info, now);
        seam::ScheduleFire fire{schedule.id, schedule.version, {}, due.next_fire_at};
        for (model::DueRun& run : due.runs) fire.runs.push_back({run.fire_at, std::move(run.run)});
        if (!backend_.fire_schedule(fire)) return {Outcome::lost_race, std::nullopt};
        return {Outcome::fired, due.next_fire_at};
    } catch (const Error& error) {
        if (error.retryable() || error.in_doubt()) throw;
        log_broken(schedule, error);
        return {Outcome::broken, std::nullopt};
    }
}

// Another worker may be able to fire it, for example if its time zone is unknown on this machine.
void Scheduler::log_broken(const seam::StoredSchedule& schedule, const std::exception& error) {
    if (Clock::now() - broken_logged_at_ < std::chrono::minutes(1)) return;
    broken_logged_at_ = Clock::now();
    backend_.log().error(fmt::format(
        "schedule '{}' cannot be fired by this worker: {}", schedule.info.name, error.what()
    ));
}

}  // namespace pawl::runtime
