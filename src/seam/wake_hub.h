// Notifies waiting threads that there may be work. A wake-up is a hint: the woken thread queries
// the store, and a thread that misses one polls after its interval.
//
// The race to avoid: work arrives between a query that found nothing and the wait. So: take a
// ticket, query, wait with the ticket; a notification after the ticket ends the wait immediately.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <span>
#include <stop_token>
#include <unordered_map>

#include "seam/wake_topic.h"

namespace pawl::seam {

class WakeHub {
public:
    using Ticket = std::uint64_t;

    [[nodiscard]] Ticket ticket();
    void notify(const WakeTopic& topic);
    void notify_all();
    // Returns true if one of the topics (empty: any) was notified after the ticket was taken, false
    // at the deadline or when a stop was requested.
    bool wait(
        Ticket ticket,
        std::span<const WakeTopic> topics,
        std::chrono::steady_clock::time_point deadline,
        const std::stop_token& stop
    );

    // Calls `then` at each notification of the topic, or of all, while it exists. The call is made
    // on the notifying thread with the hub's mutex held: it must not block or use the hub.
    class Observation {
    public:
        Observation(WakeHub& hub, const WakeTopic& topic, std::function<void()> then);
        ~Observation();
        Observation(const Observation&) = delete;
        Observation& operator=(const Observation&) = delete;

    private:
        friend class WakeHub;
        WakeHub& hub_;
        const WakeTopic topic_;
        const std::function<void()> then_;
    };

    // Threads inside wait(), and observations, for tests.
    [[nodiscard]] std::size_t waiters();

private:
    struct Waiter {
        Ticket ticket;
        std::span<const WakeTopic> topics;
        std::condition_variable_any woken;
    };
    [[nodiscard]] bool woken(Ticket ticket, std::span<const WakeTopic> topics) const;
    void wake_concerned();

    std::mutex mutex_;
    // Each has its own condition variable, so a message wakes only its waiter.
    std::list<Waiter> waiters_;
    std::list<const Observation*> observations_;
    Ticket last_ = 0;
    Ticket all_ = 0;
    std::unordered_map<WakeTopic, Ticket> by_topic_;
};

}  // namespace pawl::seam
