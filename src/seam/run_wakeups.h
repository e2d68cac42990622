// Wakes waiters of a run, and the worker that holds it, when the run changes. A hint, like WakeHub:
// the woken thread queries the store.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <pawl/types.h>
#include <set>
#include <stop_token>

namespace pawl::seam {

class RunWakeups {
public:
    class Group;
    // Collects signals of the run while it exists, or passes them to its group.
    class Watch {
    public:
        Watch(RunWakeups& signals, RunId run, Group* group = nullptr);
        ~Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;
        // Returns true if a signal arrived since the last wait, false at the deadline or when a
        // stop is requested.
        bool wait(std::chrono::steady_clock::time_point deadline, const std::stop_token& stop = {});

    private:
        friend class RunWakeups;
        RunWakeups& signals_;
        const RunId run_;
        Group* const group_;
        bool signalled_ = false;  // guarded by the mutex of signals_
    };
    // Lets one thread wait for signals of many runs.
    class Group {
    public:
        explicit Group(RunWakeups& signals) : signals_(signals) {}
        // Returns the runs signalled since the last call. Empty at the deadline, when a stop is
        // requested, or after interrupt().
        std::set<RunId> wait(
            std::chrono::steady_clock::time_point deadline, const std::stop_token& stop
        );
        void interrupt();

    private:
        friend class RunWakeups;
        RunWakeups& signals_;
        std::set<RunId> signalled_;  // guarded by the mutex of signals_, like the next
        bool interrupted_ = false;
    };
    // Called when a run was cancelled, or with no run if the source of the wake-up is unknown. Runs
    // on the notifying thread. Must not block.
    using Observer = std::function<void(RunId)>;
    class Observation {
    public:
        Observation(RunWakeups& signals, Observer observer);
        ~Observation();
        Observation(const Observation&) = delete;
        Observation& operator=(const Observation&) = delete;

    private:
        RunWakeups& signals_;
        std::list<Observer>::iterator place_;
    };

    void notify(RunId run);            // the run has ended
    void notify_cancelled(RunId run);  // wakes its holder too
    void notify_all();                 // something was written; the store does not know what
    void notify_workers();             // an operator has changed a worker's status
    [[nodiscard]] bool watched() const { return watches_count_ > 0; }
    // Threads inside Watch::wait(), for tests.
    [[nodiscard]] int waiters();

private:
    // The mutex is held.
    static void signal(Watch& watch);

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::multimap<RunId, Watch*> watches_;
    int waiters_ = 0;
    std::atomic<int> watches_count_ = 0;
    std::mutex observers_mutex_;
    std::list<Observer> observers_;
};

}  // namespace pawl::seam
