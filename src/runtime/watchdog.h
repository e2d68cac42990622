// Looks after the runs that execute: a step that takes long is recorded as RUNNING, one that takes
// too long is asked to stop, and reported when it does not. Asleep while nothing executes.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_set>

namespace pawl::runtime {

class RunContext;

class Watchdog {
public:
    Watchdog();
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // While it lives, the run is looked after.
    class Attention {
    public:
        Attention(Watchdog& watchdog, RunContext& run);
        ~Attention();
        Attention(const Attention&) = delete;
        Attention& operator=(const Attention&) = delete;

    private:
        Watchdog& watchdog_;
        RunContext& run_;
    };

private:
    void work(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::unordered_set<RunContext*> runs_;
    bool asleep_ = false;
    std::jthread thread_;
};

}  // namespace pawl::runtime
