// Fires schedules. Every worker has a scheduler, without a leader: each tries to fire what is due,
// and the store accepts one of them. A crashed scheduler leaves no state behind.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>

#include "runtime/services/service_timer.h"
#include "seam/engine.h"

namespace pawl::runtime {

class Scheduler {
public:
    explicit Scheduler(seam::Engine& backend) : backend_(backend) {}
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Both are idempotent. A stopped scheduler can be started again.
    void start(ServiceTimer& timer);
    void stop();
    // Fires due schedules. Returns the pause until the next call, unless a wake-up comes first.
    Duration fire_due();

private:
    enum class Outcome { fired, lost_race, broken };
    struct Fired {
        Outcome outcome;
        std::optional<Timestamp> next;
    };

    [[nodiscard]] ServiceTimer::Clock::time_point tick(ServiceTimer::Clock::time_point now);
    Fired fire(const seam::StoredSchedule& schedule, Timestamp now);
    void log_broken(const seam::StoredSchedule& schedule, const std::exception& error);

    seam::Engine& backend_;
    int broken_ = 0;  // schedules that could not be fired at the last call
    std::chrono::steady_clock::time_point broken_logged_at_{};
    std::mutex fire_mutex_;
    std::atomic<ServiceTimer::Clock::time_point> ticked_at_{};
    std::mutex lifecycle_;
    // Set while started.
    std::optional<base::Outage::Reporter> outage_;
    std::optional<ServiceTimer::Service> service_;
    std::optional<seam::WakeHub::Observation> wakeups_;
};

}  // namespace pawl::runtime
