// Fetches work for the executor: claims as much as there is room for, and waits for wake-ups where
// there is none.
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
    Claimer(
        seam::Engine& backend,
        const WorkerOptions& options,
        const std::atomic<WorkerId>& worker,
        Executor& executor,
        Committer& committer,
        LeaseTable& leases,
        WorkerMeters* meters,
        WorkLog& log
    );
    ~Claimer();
    Claimer(const Claimer&) = delete;
    Claimer& operator=(const Claimer&) = delete;

    void start();
    void stop();  // idempotent; returns when no claim is under way
    void pause();
    void resume();
    // The database was away, or this machine slept: live workers may not have sent a heartbeat yet.
    void assume_stale_liveness();

    // Claims everything that is ready now, as there is room for it; returns how many messages came.
    int claim_ready();
    // After claim_ready(): while the rest is executed, and when that is done.
    void execute_due_suspects() { suspects_.execute_due({}); }
    void finish_suspects() { suspects_.finish(); }
    [[nodiscard]] int take_handed_back() { return suspects_.take_handed_back(); }
    [[nodiscard]] std::chrono::steady_clock::time_point next_look() const;
    // When it has stopped.
    int give_back_suspects() { return suspects_.give_back_all(); }

private:
    using Clock = std::chrono::steady_clock;
    using Specs = std::unordered_map<QueueId, const HandlerSpec*>;

    // What is claimed in one way: a worker's queues and workflows, those with batches of one
    // size, its flows, or a flow of which it handles only some steps.
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
        Clock::time_point until;  // its lease is not extended
    };
    // What claim_ready() has claimed. A message that it settles and that is ready again, or one
    // that was enqueued later, is late: it is held so that it does not come again, and handed back
    // at the end, without a strike.
    struct Round {
        std::optional<Timestamp> began;
        std::unordered_set<MessageId> claimed;
        std::vector<Late> late;
    };
    static constexpr std::size_t max_late = 1000;

    void work(const std::stop_token& stop);
    // One claim of each source for what there is room for; returns how many messages came.
    int claim_once(seam::Scan scan, const std::stop_token& stop);
    // True if the claim has brought something that was ready when the round began.
    [[nodiscard]] bool note_in_round(const seam::Claim& claim);
    void hold_late(Calls calls, Clock::time_point asked_at);
    void give_back_late(Clock::time_point now);
    Source& add_source(seam::Work work, int batch_size);
    // A source of its own if the worker has no handlers for some steps of the flow.
    void add_partial_source(const HandlerSpec& spec);
    [[nodiscard]] bool takes(const Source& source, const HandlerSpec& spec) const;
    void refresh_queues();
    void refresh_workflows(const Specs& specs);
    [[nodiscard]] bool fits(QueueId queue, const HandlerSpec& spec) const;
    [[nodiscard]] Taken claim_from(
        Source& source, int room, seam::Scan scan, const std::stop_token& stop
    );
    void fail_unhandled();
    void note_lost_answer();
    void hand_back_unknown();
    void log_claim(const seam::Claim& claim, const std::vector<std::shared_ptr<Call>>& calls);
    std::shared_ptr<const WorkflowInfo> workflow_of(QueueId queue, const HandlerSpec& spec);
    [[nodiscard]] Calls to_calls(seam::Claim& claim, Clock::time_point asked_at);
    void wait_for_work(seam::WakeHub::Ticket ticket, const std::stop_token& stop);

    seam::Engine& backend_;
    const WorkerOptions& options_;
    const std::atomic<WorkerId>& worker_;  // changes if it has to register again
    Executor& executor_;
    Committer& committer_;
    LeaseTable& leases_;
    WorkerMeters* const meters_;  // null: nobody measures
    WorkLog& log_;
    base::Outage::Reporter outage_;

    Suspects suspects_;

    // Used by the claiming thread only.
    std::vector<std::string> names_;
    std::vector<Source> sources_;
    std::size_t turn_ = 0;  // the source that is asked first
    Specs specs_;
    std::vector<QueueId> queues_;          // of all sources
    std::vector<seam::WakeTopic> topics_;  // the same, to wait for
    std::unordered_map<QueueId, std::shared_ptr<const WorkflowInfo>> workflows_;
    bool handles_workflows_ = false;  // or flows
    Clock::time_point unhandled_at_{};
    bool look_again_ = false;  // for unhandled runs: the last look was put off
    Clock::time_point refreshed_at_{};
    Clock::time_point due_at_{};
    bool more_ = false;
    std::optional<Round> round_;  // of claim_ready()
    Duration error_pause_{20};
    // When to ask for leases that an answer was lost of; the first is the next.
    std::vector<Clock::time_point> ask_for_leases_at_;

    std::atomic<bool> paused_ = false;
    std::atomic<Clock::time_point> liveness_stale_until_{};
    std::mutex lifecycle_;  // start() and stop() come from different threads
    std::jthread thread_;
};

}  // namespace pawl::runtime
