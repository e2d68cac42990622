// Repeated claims over a set of queues, for a worker. In a wide set (hundreds of queues) usually
// few have work: those are claimed from in turn, and the whole set is searched every 100 ms, or
// when the busy queues do not fill a claim.
#pragma once

#include <chrono>
#include <deque>

#include "seam/engine.h"

namespace pawl::engine {

class ClaimStream {
public:
    ClaimStream(seam::Engine& backend, WorkerId worker, std::optional<Duration> lease);

    void set_queues(std::vector<QueueId> queues);
    void set_work(seam::Work work) { request_.work = work; }
    void set_worker(WorkerId worker) { request_.worker = worker; }
    void set_steps(std::vector<std::string> steps) { request_.steps = std::move(steps); }
    [[nodiscard]] const std::vector<QueueId>& queues() const { return all_; }
    // If seam::Claim::more is set, claim again before waiting. If not, every queue was searched
    // since the last message was found, and seam::Claim::next_due covers all of them.
    [[nodiscard]] seam::Claim next(int max_messages, seam::Scan scan);

private:
    [[nodiscard]] seam::Claim claim_from(const std::vector<QueueId>& queues, QueueId after);
    [[nodiscard]] seam::Claim claim_busy(std::size_t wanted);
    void track_turn(seam::Claim& claim, QueueId began_after);

    seam::Engine& backend_;
    seam::ClaimRequest request_;
    std::vector<QueueId> all_;
    QueueId after_;            // position in the whole set
    bool whole_turn_ = false;  // no message was found since the last claim that began at the start
    std::optional<Timestamp> next_due_;  // the minimum of that turn
    std::deque<QueueId> busy_;           // filled the last claim, all messages having one priority
    std::chrono::steady_clock::time_point searched_at_{};
};

}  // namespace pawl::engine
