// One call of a handler, from its claim to its report. MessageCall, RunCall and TaskCall execute
// it.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <pawl/worker.h>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "seam/claim.h"
#include "seam/outcome.h"

namespace pawl::runtime {

class LeaseTable;
class WorkLog;
struct HandlerMeters;

class Call {
public:
    using Clock = std::chrono::steady_clock;

    // Facts about the call from its claim.
    struct Origin {
        const HandlerSpec* spec = nullptr;
        LeaseTable* leases = nullptr;
        WorkLog* log = nullptr;
        HandlerMeters* meters = nullptr;        // null unless metrics are enabled
        Timestamp claimed_at;                   // the database's clock at the claim
        Clock::time_point claimed_at_steady{};  // the local clock at the claim
    };

    explicit Call(const Origin& origin) : origin_(origin) {}
    virtual ~Call() = default;
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    [[nodiscard]] virtual std::span<const Message> messages() const = 0;
    // "run 12 of workflow 'order'", "message 5 of queue 'mail'", ...
    [[nodiscard]] virtual std::string subject() const = 0;
    // Calls the handler and returns the writes to commit; nullopt if the lease was lost.
    [[nodiscard]] virtual std::optional<std::vector<seam::Write>> execute() = 0;
    // The write to commit instead of one that the database rejected. If nullopt, the messages are
    // delivered again after their lease.
    [[nodiscard]] virtual std::optional<seam::Write> after_rejection(
        const seam::Write& /*rejected*/, std::string_view /*error*/
    ) const {
        return std::nullopt;
    }
    // The task that the call executes, or null.
    [[nodiscard]] virtual const seam::ClaimedTask* claimed_task() const { return nullptr; }
    // True for a run: its steps wait for commits, during which the run may leave its thread, and
    // the watchdog describes it.
    [[nodiscard]] virtual bool has_steps() const { return false; }
    // For the metrics: the time taken until now.
    [[nodiscard]] virtual std::chrono::microseconds time_taken() const {
        return std::chrono::duration_cast<std::chrono::microseconds>(
            Clock::now() - started_at_steady
        );
    }

    [[nodiscard]] const HandlerSpec& spec() const { return *origin_.spec; }
    [[nodiscard]] LeaseTable& leases() const { return *origin_.leases; }
    [[nodiscard]] WorkLog& log() const { return *origin_.log; }
    [[nodiscard]] HandlerMeters* meters() const { return origin_.meters; }
    [[nodiscard]] Timestamp claimed_at() const { return origin_.claimed_at; }
    [[nodiscard]] Clock::time_point claimed_at_steady() const { return origin_.claimed_at_steady; }
    // The duration of its lease at the claim.
    [[nodiscard]] Duration claimed_lease() const {
        return std::chrono::duration_cast<Duration>(messages().front().visible_at - claimed_at());
    }
    // It has lost all its leases or was cancelled: nothing about it can be recorded anymore.
    [[nodiscard]] bool is_over() const { return lost || cancelled; }

    std::stop_source stop{};
    std::size_t leases_left = 0;            // guarded by the lease table
    Clock::time_point started_at_steady{};  // only if metrics are enabled
    Clock::time_point running_since{};      // guarded by the executor
    bool ended = false;                     // guarded by the executor
    Clock::time_point stale_at{};           // handed back if it was not started by then
    std::atomic<bool> lost = false;         // nothing about it will be recorded anymore
    std::atomic<bool> dropped = false;      // the store was restored: nothing is reported at all
    std::atomic<bool> cancelled = false;    // lost because it was cancelled
    std::atomic<bool> abandoned = false;    // lost because the worker stops
    std::atomic<bool> reported = false;     // the watchdog has reported its end
    std::atomic<Clock::time_point> lease_ends_at{Clock::time_point{}};

protected:
    [[nodiscard]] static std::optional<std::vector<seam::Write>> as_batch(
        std::optional<seam::Write> write
    ) {
        if (!write) return std::nullopt;
        std::vector<seam::Write> writes;
        writes.push_back(std::move(*write));
        return writes;
    }

private:
    const Origin origin_;
};

}  // namespace pawl::runtime
