// Prunes rows according to the retention policies. Every worker has one; the store grants the turn
// to one of them, at most once per prune_interval. It prunes in batches with pauses, so that live
// work is hardly affected. After a crash, the next pass continues.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/prune_pass.h"
#include "runtime/services/service_timer.h"

namespace pawl::runtime {

class Pruner {
public:
    // `busy` returns whether this process holds leases.
    Pruner(seam::Engine& backend, std::function<bool()> busy)
        : backend_(backend), busy_(std::move(busy)) {}
    ~Pruner();
    Pruner(const Pruner&) = delete;
    Pruner& operator=(const Pruner&) = delete;

    // Both are idempotent. A stopped pruner can be started again.
    void start(ServiceTimer& timer);
    void stop();
    // Prunes one batch if it has the turn. Returns the pause until the next call.
    Duration run_batch();

private:
    [[nodiscard]] ServiceTimer::Clock::time_point tick();
    void end_pass();
    void hand_back();

    seam::Engine& backend_;
    const std::function<bool()> busy_;
    std::optional<engine::PrunePass> pass_;  // while it has the turn
    std::chrono::steady_clock::time_point claimed_at_{};
    std::mutex batch_mutex_;
    std::mutex lifecycle_;
    std::optional<ServiceTimer::Service> service_;  // while it is started
};

}  // namespace pawl::runtime
