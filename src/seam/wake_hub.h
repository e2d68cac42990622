// Notifies waiting threads that there may be work. A wake-up is a hint: the woken thread queries
// the store, and a thread that misses one polls after its interval.
//
// The race to avoid: work arrives between a query that found nothing and the wait. So: take a
// ticket, query, wait with the ticket; a notification after the ticket ends the wait immediately.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
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
    // True when one of the topics (none given: any) was notified after the ticket was taken; false
    // at the deadline or when a stop was requested.
    bool wait(
        Ticket ticket,
        std::span<const WakeTopic> topics,
        std::chrono::steady_clock::time_point deadline,
        const std::stop_token& stop
    );

    // Threads inside wait(): tests act only when one is there.
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
    std::list<Waiter> waiters_;  // each with a thread of its own: a message of one wakes no other
    Ticket last_ = 0;
    Ticket all_ = 0;
    std::unordered_map<WakeTopic, Ticket> by_topic_;
};

}  // namespace pawl::seam
