// Prunes what the policies of retention let go. Every worker has one; the store gives one of them
// the turn, at most once per prune_interval. It works a batch at a time and rests in between, so
// that live work hardly notices. One that dies leaves nothing half done: the next pass goes on.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/prune_pass.h"

namespace pawl::runtime {

class Pruner {
public:
    // `busy`: whether this process has live work in hand.
    Pruner(seam::Engine& backend, std::function<bool()> busy)
        : backend_(backend), busy_(std::move(busy)) {}
    ~Pruner();
    Pruner(const Pruner&) = delete;
    Pruner& operator=(const Pruner&) = delete;

    // Both idempotent; a stopped one may be started again.
    void start();
    void stop();
    // One batch, where it is our turn. Returns after how long to look again.
    Duration look();

private:
    void work(const std::stop_token& stop);
    void end_pass();
    void hand_back();

    seam::Engine& backend_;
    const std::function<bool()> busy_;
    std::optional<engine::PrunePass> pass_;  // while it is our turn
    std::chrono::steady_clock::time_point claimed_at_{};
    std::mutex look_mutex_;
    std::mutex lifecycle_;
    std::jthread thread_;
};

}  // namespace pawl::runtime
