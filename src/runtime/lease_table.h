// What this process holds: extended by the heartbeat, watched by the handlers.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "runtime/stop_notifier.h"
#include "seam/outcome.h"

namespace pawl::runtime {

class Call;

class LeaseTable {
public:
    using Clock = std::chrono::steady_clock;

    // `asked_at` is when the claim was sent: the lease cannot have begun before.
    void add(std::span<const Message> messages, Timestamp claimed_at, Clock::time_point asked_at);
    void forget(std::span<const seam::Write> committed);
    void forget(std::span<const Message> messages);
    // The store is another one, in which somebody else may hold the same deliveries: every lease
    // counts as lost, running handlers are asked to stop, and nothing of it may be reported or
    // handed back. Returns how many leases there were.
    std::size_t drop_all();
    [[nodiscard]] bool dropped(const Lease& lease) const;
    // The call that has the messages now: it is asked to stop when all its leases are lost. Returns
    // how many it still holds.
    std::size_t assign(const std::shared_ptr<Call>& call);

    // Of what has been started: the rest is handed back before its lease ends.
    [[nodiscard]] std::vector<seam::Write> extensions() const;
    void extended(
        std::span<const seam::Write> extensions,
        std::span<const seam::WriteOutcome> outcomes,
        Clock::time_point asked_at
    );
    // Until told to stop: ends leases at their time where no heartbeat has got through.
    void expire_in_time(const std::stop_token& stop);

    // The shortest lease of all that is held, or `longest`. From then on what on_shorter() was
    // given is called when a shorter one comes.
    [[nodiscard]] Duration shortest(Duration longest);
    void on_shorter(std::function<void()> then);

    [[nodiscard]] bool knows(const Lease& lease) const;  // held, or lost and not settled yet
    [[nodiscard]] bool lost(const Lease& lease) const;
    // A run, or a task of a flow's run that executes.
    [[nodiscard]] bool holds(RunId run) const;
    [[nodiscard]] bool empty() const;
    [[nodiscard]] std::vector<Lease> held() const;  // without those that are lost

private:
    struct HeldLease {
        int delivery = 0;
        Duration lease{};
        Clock::time_point ends_at;
        std::shared_ptr<Call> call;
        bool lost = false;
        bool dropped = false;
    };
    void forget(const Lease& lease);  // the mutex is held
    // A call that has lost its last lease is asked to stop.
    void lose(HeldLease& held, bool cancelled);
    void expire(Clock::time_point now);

    StopNotifier stopper_;
    mutable std::mutex mutex_;
    std::unordered_map<MessageId, HeldLease> held_;
    Duration shortest_{0};  // the last answer of shortest()
    std::function<void()> on_shorter_;
    std::condition_variable_any sooner_;
    Clock::time_point expire_at_{};  // no lease ends before, unless it is extended
};

}  // namespace pawl::runtime
