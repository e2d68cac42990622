// Fetches work for the executor: claims as much as there is room for, and waits for wake-ups if
// there is no work.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/claim_stream.h"
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
    using Specs = std::unordered_map<QueueId, const HandlerSpec*>;

    // A set of queues that one claim covers: a worker's queues and workflows, its handlers with one
    // batch size, its flows, or a flow of which it handles only some steps.
    struct Source {
        seam::Work work;
        int batch_size;
        engine::ClaimStream stream;
        const HandlerSpec* only = nullptr;
    };
    struct Taken {
        int messages = 0;
        int calls = 0;
    };
    using Calls = std::vector<std::shared_ptr<Call>>;
    struct Late {
        std::shared_ptr<Call> call;
        Clock::time_point until;  // end of the holding time; the lease is not extended
    };
    // The messages that claim_ready() has claimed. A message that becomes ready again after it was
    // settled, or that was enqueued later, is late: it is held so that it is not claimed again, and
    // handed back at the end without a strike.
    struct Round {
        std::optional<Timestamp> began;
        std::unordered_set<MessageId> claimed;
        std::vector<Late> late;
    };
    static constexpr std::size_t max_late = 1000;

    void work(const std::stop_token& stop);
    // One claim from each source, as far as there is room. Returns the number of messages.
    int claim_once(seam::Scan scan, const std::stop_token& stop);
    // True if the claim contains a message that was ready when the round began.
    [[nodiscard]] bool note_in_round(const seam::Claim& claim);
    void hold_late(Calls calls, Clock::time_point asked_at);
    void hand_back_late(Clock::time_point now);
    Source& add_source(seam::Work work, int batch_size);
    // Adds a separate source if the worker has no handlers for some steps of the flow.
    void add_partial_source(const HandlerSpec& spec);
    [[nodiscard]] bool takes(const Source& source, const HandlerSpec& spec) const;
    void refresh_queues();
    void refresh_workflows(const Specs& specs);
    [[nodiscard]] bool can_handle(QueueId queue, const HandlerSpec& spec) const;
    [[nodiscard]] Taken claim_from(
        Source& source, int room, seam::Scan scan, const std::stop_token& stop
    );
    void fail_unhandled();
    [[nodiscard]] bool knows_liveness() const;
    // Repeats a failed call of poll_once() while the database is away.
    template <class Call>
    auto retry_in_round(Call call);
    void note_lost_answer();
    void hand_back_unknown();
    void log_claim(const seam::Claim& claim, const std::vector<std::shared_ptr<Call>>& calls);
    std::shared_ptr<const WorkflowInfo> workflow_of(QueueId queue, const HandlerSpec& spec);
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

    Suspects suspects_;

    // Used by the claiming thread only.
    std::vector<std::string> names_;
    std::vector<Source> sources_;
    std::size_t turn_ = 0;  // index of the source that is claimed from first
    Specs specs_;
    std::vector<QueueId> queues_;          // of all sources
    std::vector<seam::WakeTopic> topics_;  // the wake-up topics of queues_
    std::unordered_map<QueueId, std::shared_ptr<const WorkflowInfo>> workflows_;
    bool handles_workflows_ = false;  // or flows
    Clock::time_point unhandled_at_{};
    bool unhandled_postponed_ = false;  // the check for unhandled runs was postponed
    Clock::time_point refreshed_at_{};
    Clock::time_point due_at_{};
    bool more_ = false;
    std::optional<Round> round_;  // of claim_ready()
    Duration error_pause_{20};
    // When to query the leases of a claim whose answer was lost, in order.
    std::vector<Clock::time_point> ask_for_leases_at_;

    std::atomic<bool> paused_ = false;
    std::atomic<Clock::time_point> liveness_stale_since_{};
    std::mutex lifecycle_;  // start() and stop() are called from different threads
    std::jthread thread_;
};

}  // namespace pawl::runtime
