// Tells threads that wait for a run, and workers that hold it, that something has become of it. A
// hint, like WakeHub: who is told looks into the store.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <pawl/types.h>

namespace pawl::seam {

class RunWakeups {
public:
    // While it lives, signals of the run are kept for it.
    class Watch {
    public:
        Watch(RunWakeups& signals, RunId run);
        ~Watch();
        Watch(const Watch&) = delete;
        Watch& operator=(const Watch&) = delete;
        // Returns true at the next signal since the last wait, false at the deadline.
        bool wait(std::chrono::steady_clock::time_point deadline);

    private:
        friend class RunWakeups;
        RunWakeups& signals_;
        const RunId run_;
        bool signalled_ = false;  // guarded by the mutex of signals_
    };
    // Called when a run was cancelled; without a run when nobody knows what was written. On the
    // thread that notifies. Must not block.
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

    void notify(RunId run);            // it has ended
    void notify_cancelled(RunId run);  // whoever holds it is told, too
    void notify_all();                 // something was written, nobody knows what
    void notify_workers();             // an operator has steered one of them
    [[nodiscard]] bool watched() const { return watches_count_ > 0; }
    // Threads inside Watch::wait(): tests act only when they are there.
    [[nodiscard]] int waiters();

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::multimap<RunId, Watch*> watches_;
    int waiters_ = 0;
    std::atomic<int> watches_count_ = 0;
    std::mutex observers_mutex_;
    std::list<Observer> observers_;
};

}  // namespace pawl::seam
