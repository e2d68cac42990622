// The leases that this process holds. The heartbeat extends them, and their handlers are stopped
// when they are lost.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/stop_notifier.h"
#include "seam/outcome.h"

namespace pawl::runtime {

class Call;

class LeaseTable {
public:
    using Clock = std::chrono::steady_clock;

    // `asked_at` is when the claim was sent: the lease cannot have begun earlier.
    void add(std::span<const Message> messages, Timestamp claimed_at, Clock::time_point asked_at);
    void forget(std::span<const seam::Write> committed);
    void forget(std::span<const Message> messages);
    // For a restored store, in which another worker may hold the same deliveries: every lease
    // counts as lost, running handlers are asked to stop, and nothing may be reported or handed
    // back. Returns the number of leases.
    std::size_t drop_all();
    [[nodiscard]] bool dropped(const Lease& lease) const;
    // Sets the call that executes the messages. It is asked to stop when all its leases are lost.
    // Returns the number of leases that it still holds.
    std::size_t assign(const std::shared_ptr<Call>& call);

    // Only for started calls; the others are handed back before their lease ends.
    [[nodiscard]] std::vector<seam::Write> extensions() const;
    void extended(
        std::span<const seam::Write> extensions,
        std::span<const seam::WriteOutcome> outcomes,
        Clock::time_point asked_at
    );
    // Ends expired leases, which no heartbeat could extend. Returns when the next one may end.
    Clock::time_point expire(Clock::time_point now);
    // From then on the function passed to on_sooner() is called, with the table's mutex held, when
    // a lease ends before that time.
    void on_sooner(std::function<void(Clock::time_point)> then);

    // The shortest lease held, or `longest`. From then on the function passed to on_shorter() is
    // called when a shorter one is added.
    [[nodiscard]] Duration shortest(Duration longest);
    void on_shorter(std::function<void()> then);

    [[nodiscard]] bool knows(const Lease& lease) const;  // held, or lost and not yet settled
    [[nodiscard]] bool lost(const Lease& lease) const;
    // Whether a run, or a task of a flow's run, is held.
    [[nodiscard]] bool holds(RunId run) const;
    [[nodiscard]] bool empty() const;
    [[nodiscard]] std::vector<Lease> held() const;  // without lost ones

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
    // Stops a call that has lost its last lease.
    void lose(HeldLease& held, bool cancelled);

    StopNotifier stopper_;
    mutable std::mutex mutex_;
    std::unordered_map<MessageId, HeldLease> held_;
    Duration shortest_{0};  // the last result of shortest()
    std::function<void()> on_shorter_;
    std::function<void(Clock::time_point)> on_sooner_;
    Clock::time_point expire_at_{};  // no lease ends earlier
};

}  // namespace pawl::runtime
