// Fires schedules. Every worker has one, and none of them leads: who sees a fire time tries to fire
// it, and the store lets one of them through. A scheduler that dies leaves nothing behind.
#pragma once

#include <chrono>
#include <mutex>
#include <thread>

#include "seam/engine.h"

namespace pawl::runtime {

class Scheduler {
public:
    explicit Scheduler(seam::Engine& backend) : backend_(backend) {}
    ~Scheduler();
    Scheduler(const Scheduler&) = delete;
    Scheduler& operator=(const Scheduler&) = delete;

    // Both idempotent; a stopped one may be started again.
    void start();
    void stop();
    // Fires what is due. Returns after how long to look again, unless something is changed before.
    Duration look();

private:
    enum class Outcome { fired, lost_race, broken };
    struct Fired {
        Outcome outcome;
        std::optional<Timestamp> next;
    };

    void work(const std::stop_token& stop);
    Fired fire(const seam::StoredSchedule& schedule, Timestamp now);
    void complain(const seam::StoredSchedule& schedule, const std::exception& error);

    seam::Engine& backend_;
    int broken_ = 0;  // at the last look
    std::chrono::steady_clock::time_point complained_at_{};
    std::mutex look_mutex_;
    std::mutex lifecycle_;
    std::jthread thread_;
};

}  // namespace pawl::runtime
