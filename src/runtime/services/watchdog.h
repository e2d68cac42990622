// Looks after what executes, ten times a second: whatever takes long, or too long, is attended to
// although its thread is in the user's code. Asleep while nothing executes.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include "runtime/stop_notifier.h"

namespace pawl::runtime {

// A run or a task that executes. `check_deadlines` comes from the watchdog's thread, and returns
// what is to be stopped, if anything: stop callbacks are the user's code, which may take its time,
// so they are called when the watchdog holds no lock.
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
    Watchdog();
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    [[nodiscard]] std::vector<std::string> describe();

    // While it lives, the run or task is looked after.
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
    void work(const std::stop_token& stop);

    StopNotifier stopper_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::unordered_set<Watched*> watched_;
    bool asleep_ = false;
    std::jthread thread_;
};

}  // namespace pawl::runtime
