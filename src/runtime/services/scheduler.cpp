#include "runtime/services/scheduler.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "model/schedule.h"
#include "runtime/sleep_until_stop.h"

namespace pawl::runtime {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int batch_size = 100;
// Without a wake-up, unless the store's poll_interval is longer.
constexpr Duration look_at_least_every = 30s;
constexpr Duration look_for_waiting_every = 1s;  // has the run ended that they wait for?
constexpr Duration look_after_lost_race = 100ms;
// On SQLite every commit of others is a wake-up.
constexpr Duration fire_at_most_every = 100ms;

constexpr std::array schedule_wakes{seam::schedules_changed};

}  // namespace

Scheduler::~Scheduler() {
    stop();
}

void Scheduler::start() {
    const std::lock_guard lock(lifecycle_);
    if (!thread_.joinable())
        thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void Scheduler::stop() {
    const std::lock_guard lock(lifecycle_);
    if (!thread_.joinable()) return;
    thread_.request_stop();
    thread_.join();
}

void Scheduler::work(const std::stop_token& stop) {
    seam::WakeHub& hub = backend_.wake_hub();
    base::Outage::Reporter outage(backend_.outage());
    while (!stop.stop_requested()) {
        const auto ticket = hub.ticket();
        const auto looked_at = Clock::now();
        Duration pause = look_after_error;
        try {
            pause = look();
            outage.succeeded();
        } catch (const std::exception& error) {
            if (!outage.failed(error))
                backend_.log().warning(
                    fmt::format("firing of schedules failed, retrying: {}", error.what())
                );
        }
        if (pause <= Duration::zero()) continue;
        if (hub.wait(ticket, schedule_wakes, Clock::now() + pause, stop))
            sleep_until_stop(std::min(looked_at + fire_at_most_every, Clock::now() + pause), stop);
    }
}

Duration Scheduler::look() {
    const std::lock_guard lock(look_mutex_);
    // What cannot be fired here stays due: it must not hide the others.
    const int limit = batch_size + broken_;
    const auto found = backend_.due_schedules(limit);
    broken_ = 0;
    std::optional<Timestamp> next_due = found.next_due;
    Duration pause = std::max(look_at_least_every, backend_.options().poll_interval);
    if (found.waiting) pause = look_for_waiting_every;
    for (const seam::StoredSchedule& schedule : found.due) {
        const Fired fired = fire(schedule, found.now);
        if (fired.outcome == Outcome::broken) ++broken_;
        if (fired.outcome == Outcome::lost_race) pause = std::min(pause, look_after_lost_race);
        if (schedule.info.overlap == Overlap::queue_one)
            pause = std::min(pause, look_for_waiting_every);
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
        complain(schedule, error);
        return {Outcome::broken, std::nullopt};
    }
}

// Where its time zone is not known on this machine, others may fire it.
void Scheduler::complain(const seam::StoredSchedule& schedule, const std::exception& error) {
    if (Clock::now() - complained_at_ < std::chrono::minutes(1)) return;
    complained_at_ = Clock::now();
    backend_.log().error(
        fmt::format("schedule '{}' cannot be fired here: {}", schedule.info.name, error.what())
    );
}

}  // namespace pawl::runtime
