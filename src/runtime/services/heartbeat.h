// Extends everything this process holds, in one batch per interval, over a connection of its own,
// and learns what an operator wants of the worker. Where no beat gets through, leases end at their
// time all the same.
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
        std::function<void()> before;                    // each beat
        std::function<void(WorkerStatus)> apply_status;  // what is stored
        // The store has no row for the worker, or is older than the worker's last beat.
        std::function<void(WorkerId, std::string_view why)> unknown;
        // Whether a beat would tell the worker more than it knows; see Engine::has_news().
        std::function<bool()> has_news;
        // None got through, or the machine has slept: others may have missed theirs, too.
        std::function<void()> missed;
    };

    // Beats come at least every `interval`; where a lease is held that would not live to see
    // three of them, sooner, and so does the next after one that did not get through.
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
    void beat_now();   // returns at once
    void check_now();  // beats if there is news; returns at once
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
    bool sooner_ = false;  // there is a shorter lease than before
    bool check_ = false;   // something was written that may concern the worker
    bool failed_ = false;  // the last beat
    WorkerId counted_;     // whose beats these are
    std::int64_t beats_ = 0;
    LeaseTable::Clock::time_point next_check_{};
    LeaseTable::Clock::time_point last_ = LeaseTable::Clock::now();
    std::jthread thread_;
    std::jthread expiry_;  // beats may be held up by the database
};

}  // namespace pawl::runtime
