// Runs periodic services on one thread: one at a time, in the order in which they are due.
//
// A service that blocks delays all others of its timer, so a worker has two timers. Services that
// use only memory (watchdog, lease expiry) matter most while the database does not answer. Services
// that call the database (scheduler, pruner) may then block until call_timeout; otherwise the
// pruner delays a fire time by at most one call. The heartbeat has its own thread, so that nothing
// delays it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"

namespace pawl::runtime {

class ServiceTimer {
public:
    using Clock = std::chrono::steady_clock;
    // For a service that sleeps until run_by().
    static constexpr Clock::time_point never = Clock::time_point::max();
    // Does the work of a service and returns when to run next. If it throws, the error is logged
    // and the service runs again after a second.
    using Tick = std::function<Clock::time_point(Clock::time_point now)>;

    explicit ServiceTimer(base::Log log) : log_(std::move(log)) {}
    ~ServiceTimer() = default;  // its services are destroyed before
    ServiceTimer(const ServiceTimer&) = delete;
    ServiceTimer& operator=(const ServiceTimer&) = delete;

    // Thread-safe. The timer has a thread while one of its services is started.
    class Service {
    public:
        Service(ServiceTimer& timer, std::string name, Tick tick);
        ~Service();  // stop()
        Service(const Service&) = delete;
        Service& operator=(const Service&) = delete;

        // The first tick is due immediately. Idempotent; a stopped service may be started again.
        void start();
        // Returns when no tick of the service is running. Idempotent, and a no-op before start().
        // A tick must not start or stop services of its timer.
        void stop();
        // Moves the next tick to this time if it would be later. A no-op unless started.
        void run_by(Clock::time_point time);

    private:
        friend class ServiceTimer;
        ServiceTimer& timer_;
        const std::string name_;
        const Tick tick_;
        Clock::time_point due_ = never;  // guarded by the timer's mutex
    };

private:
    void work(const std::stop_token& stop);
    void run(Service& service, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Clock::time_point tick(const Service& service) const;
    [[nodiscard]] Service* next() const;
    [[nodiscard]] bool is_started(const Service& service) const;
    void wake_up_by(Clock::time_point time);

    const base::Log log_;
    std::mutex lifecycle_;  // start() and stop() of services
    std::mutex mutex_;
    std::condition_variable_any changed_;  // wakes the thread early
    std::condition_variable ended_;        // a tick has ended
    std::vector<Service*> started_;
    const Service* running_ = nullptr;
    Clock::time_point asleep_until_{};  // while the thread sleeps
    std::jthread thread_;
};

}  // namespace pawl::runtime
