// Checks executing runs and tasks ten times a second, while their threads are in the user's code:
// records and reports those that take long or exceed their timeout. Sleeps while nothing executes.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/services/service_timer.h"
#include "runtime/stop_notifier.h"

namespace pawl::runtime {

// An executing run or task. The watchdog's thread calls `check_deadlines`, which returns a stop
// source to stop, if any: stop callbacks are user code and may take long, so they are called
// without the watchdog's lock. It must not block, because leases expire on the same thread.
class Watched {
public:
    [[nodiscard]] virtual std::optional<std::stop_source> check_deadlines(
        std::chrono::steady_clock::time_point now
    ) = 0;
    // What executes, and for how long; "" if the executor knows as much.
    [[nodiscard]] virtual std::string describe() const { return {}; }

protected:
    ~Watched() = default;
};

class Watchdog {
public:
    explicit Watchdog(ServiceTimer& timer);
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    [[nodiscard]] std::vector<std::string> describe();

    // Watches the run or task while it exists.
    class WatchScope {
    public:
        WatchScope(Watchdog& watchdog, Watched& watched);
        ~WatchScope();
        WatchScope(const WatchScope&) = delete;
        WatchScope& operator=(const WatchScope&) = delete;

    private:
        Watchdog& watchdog_;
        Watched& watched_;
    };

private:
    [[nodiscard]] ServiceTimer::Clock::time_point check(ServiceTimer::Clock::time_point now);

    StopNotifier stopper_;
    std::mutex mutex_;
    std::unordered_set<Watched*> watched_;
    bool asleep_ = false;
    ServiceTimer::Service service_;
};

}  // namespace pawl::runtime
