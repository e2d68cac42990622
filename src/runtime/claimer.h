// Fetches work for the executor: claims as much as there is room for, and waits for wake-ups if
// there is no work.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <vector>

#include "runtime/claim_round.h"
#include "runtime/claim_sources.h"
#include "runtime/executor.h"
#include "runtime/metrics/meters.h"
#include "runtime/suspects.h"
#include "runtime/work_log.h"
#include "seam/engine.h"

namespace pawl::runtime {

class Claimer {
public:
    // The parts of the worker that receive its claims.
    struct Parts {
        Executor& executor;
        Committer& committer;
        LeaseTable& leases;
        WorkerMeters* meters;  // may be null
        WorkLog& log;
    };

    Claimer(
        seam::Engine& backend,
        const WorkerOptions& options,
        const std::atomic<WorkerId>& worker,
        const Parts& parts
    );
    ~Claimer();
    Claimer(const Claimer&) = delete;
    Claimer& operator=(const Claimer&) = delete;

    void start();
    void stop();  // idempotent; returns when no claim is under way
    void pause();
    void resume();
    // The database did not answer, or this machine slept: live workers may not have sent a
    // heartbeat yet.
    void assume_stale_liveness();

    // Claims everything that is ready now, as room becomes free. Returns the number of messages.
    int claim_ready();
    // Called after claim_ready(), while the other calls execute and when they have ended.
    void execute_due_suspects() { suspects_.execute_due({}); }
    void finish_suspects() { suspects_.finish(); }
    [[nodiscard]] int take_handed_back() { return suspects_.take_handed_back(); }
    [[nodiscard]] std::chrono::steady_clock::time_point next_check() const;
    // After stop().
    int hand_back_suspects() { return suspects_.hand_back_all(); }

private:
    using Clock = std::chrono::steady_clock;
    struct Taken {
        int messages = 0;
        int calls = 0;
    };
    using Calls = std::vector<std::shared_ptr<Call>>;

    void work(const std::stop_token& stop);
    // One claim from each source, as far as there is room. Returns the number of messages.
    int claim_once(seam::Scan scan, const std::stop_token& stop);
    [[nodiscard]] Taken claim_from(
        ClaimSource& source, int room, seam::Scan scan, const std::stop_token& stop
    );
    void fail_unhandled();
    [[nodiscard]] bool knows_liveness() const;
    // Repeats a failed call of poll_once() while the database is away.
    template <class Call>
    auto retry_in_round(Call call);
    void note_lost_answer();
    void hand_back_unknown();
    void log_claim(const seam::Claim& claim, const std::vector<std::shared_ptr<Call>>& calls);
    [[nodiscard]] Calls to_calls(seam::Claim& claim, Clock::time_point asked_at);
    void wait_for_work(seam::WakeHub::Ticket ticket, const std::stop_token& stop);

    seam::Engine& backend_;
    const WorkerOptions& options_;
    const std::atomic<WorkerId>& worker_;  // changes if the worker registers again
    Executor& executor_;
    Committer& committer_;
    LeaseTable& leases_;
    WorkerMeters* const meters_;  // null unless metrics are enabled
    WorkLog& log_;
    base::Outage::Reporter outage_;

    // Used by the claiming thread only.
    Suspects suspects_;
    ClaimSources sources_;
    Clock::time_point unhandled_at_{};
    bool unhandled_postponed_ = false;  // the check for unhandled runs was postponed
    Clock::time_point due_at_{};
    bool more_ = false;
    std::optional<ClaimRound> round_;  // of claim_ready()
    Duration error_pause_{20};
    // When to query the leases of a claim whose answer was lost, in order.
    std::vector<Clock::time_point> ask_for_leases_at_;

    std::atomic<bool> paused_ = false;
    std::atomic<Clock::time_point> liveness_stale_since_{};
    std::mutex lifecycle_;  // start() and stop() are called from different threads
    std::jthread thread_;
};

}  // namespace pawl::runtime
