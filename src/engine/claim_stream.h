// Claims again and again over a set of queues, as a worker does. Of a wide set (hundreds of queues)
// mostly few have work: those are asked in turns, and all are looked through every 100 ms, or when
// the few run short.
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
    // seam::Claim::more: claim again before waiting. Not set: every queue has been looked at since
    // the last message came, and seam::Claim::next_due speaks for all of them.
    [[nodiscard]] seam::Claim next(int max_messages, seam::Scan scan);

private:
    [[nodiscard]] seam::Claim ask(const std::vector<QueueId>& queues, QueueId after);
    [[nodiscard]] seam::Claim ask_busy(std::size_t wanted);
    void keep_turn(seam::Claim& claim, QueueId began_after);

    seam::Engine& backend_;
    seam::ClaimRequest request_;
    std::vector<QueueId> all_;
    QueueId after_;                      // in the whole set
    bool whole_turn_ = false;            // nothing came since the last claim from the very start
    std::optional<Timestamp> next_due_;  // of that turn
    std::deque<QueueId> busy_;  // filled a claim just now, all with messages of one priority
    std::chrono::steady_clock::time_point looked_at_{};
};

}  // namespace pawl::engine
