// Extends all leases of this process, in one batch per interval, over its own connection, and reads
// the status that an operator has set. It has its own thread, so that nothing delays a heartbeat.
// Leases that no heartbeat extends end at their time (lease_expiry.h).
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "runtime/lease_table.h"
#include "seam/engine.h"

namespace pawl::runtime {

class Heartbeat {
public:
    struct Hooks {
        std::function<void()> before;                    // called before each heartbeat
        std::function<void(WorkerStatus)> apply_status;  // called with the stored status
        // The store has no row for the worker, or is older than the worker's last heartbeat.
        std::function<void(WorkerId, std::string_view why)> unknown;
        // Whether a heartbeat would report something new to the worker; see Engine::has_news().
        std::function<bool()> has_news;
        // A heartbeat failed, or the machine has slept: other workers may have missed theirs too.
        std::function<void()> missed;
    };

    // Sends a heartbeat at least every `interval`; more often if a held lease is shorter than three
    // intervals, and after a failed heartbeat.
    Heartbeat(
        seam::Engine& backend,
        const std::atomic<WorkerId>& worker,
        Duration interval,
        LeaseTable& leases,
        Hooks hooks
    );
    ~Heartbeat();
    Heartbeat(const Heartbeat&) = delete;
    Heartbeat& operator=(const Heartbeat&) = delete;
    void beat_now();   // returns immediately
    void check_now();  // sends a heartbeat if there is news; returns immediately
    void stop();       // idempotent

private:
    void work(const std::stop_token& stop);
    void beat(const std::stop_token& stop);
    void repeat_busy(
        std::vector<seam::Write> extensions,
        std::vector<seam::WriteOutcome> outcomes,
        const std::stop_token& stop
    );
    void wait_for_next(const std::stop_token& stop);
    [[nodiscard]] Duration until_next();
    [[nodiscard]] bool has_news();

    seam::Engine& backend_;
    const std::atomic<WorkerId>& worker_;
    const Duration interval_;
    base::Outage::Reporter outage_;
    LeaseTable& leases_;
    Hooks hooks_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    bool wanted_ = false;
    bool sooner_ = false;  // a shorter lease was added
    bool check_ = false;   // something was written that may concern the worker
    bool failed_ = false;  // whether the last heartbeat failed
    WorkerId counted_;     // the worker that beats_ belongs to
    std::int64_t beats_ = 0;
    WorkerId restored_;  // the worker whose store was restored
    LeaseTable::Clock::time_point next_check_{};
    LeaseTable::Clock::time_point last_ = LeaseTable::Clock::now();
    std::jthread thread_;
};

}  // namespace pawl::runtime
