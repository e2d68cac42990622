// Tells threads that wait for work that there may be some. A wake-up is a hint: who is woken looks
// into the store, and who is not looks after its poll interval.
//
// The race to avoid: work arrives between an empty look and the wait. So: take a ticket, look, wait
// with the ticket; anything that was notified after the ticket ends the wait at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <pawl/types.h>
#include <span>
#include <stop_token>
#include <unordered_map>

namespace pawl::seam {

// Not a queue: schedulers wait for it.
inline constexpr QueueId schedules_changed{-1};
// Nor is this: dispatchers of the outbox do. Over NOTIFY it goes as any queue's number.
inline constexpr QueueId outbox_changed{-2};

class WakeHub {
public:
    using Ticket = std::uint64_t;

    [[nodiscard]] Ticket ticket();
    void notify(QueueId queue);
    void notify_all();
    // True when one of the queues (none given: any) was notified after the ticket was taken; false
    // at the deadline or when a stop was requested.
    bool wait(
        Ticket ticket,
        std::span<const QueueId> queues,
        std::chrono::steady_clock::time_point deadline,
        const std::stop_token& stop
    );

    // Threads inside wait(): tests act only when one is there.
    [[nodiscard]] std::size_t waiters();

private:
    struct Waiter {
        Ticket ticket;
        std::span<const QueueId> queues;
        std::condition_variable_any woken;
    };
    [[nodiscard]] bool woken(Ticket ticket, std::span<const QueueId> queues) const;
    void wake_concerned();

    std::mutex mutex_;
    std::list<Waiter> waiters_;  // each with a thread of its own: a message of one wakes no other
    Ticket last_ = 0;
    Ticket all_ = 0;
    std::unordered_map<QueueId, Ticket> by_queue_;
};

}  // namespace pawl::seam
