// Warns a caller that triggers runs of a workflow that no live worker handles. Such runs wait; that
// is not an error. The check runs on its own thread, so that trigger() does not wait for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pawl/workflow.h>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

#include "seam/engine.h"

namespace pawl::engine {

class WorkerWatch {
public:
    explicit WorkerWatch(seam::Engine& backend) : backend_(backend) {}
    // Finishes the queued checks, so that a program that triggers a run and exits gets its warning.
    ~WorkerWatch();
    WorkerWatch(const WorkerWatch&) = delete;
    WorkerWatch& operator=(const WorkerWatch&) = delete;
    // Queues a check of each workflow, at most every 10 s. Returns immediately.
    void triggered(std::span<const NewRun> runs, std::span<const Run> handles);

private:
    [[nodiscard]] bool is_time(const std::string& workflow);
    void work();
    void check(const std::string& workflow);

    seam::Engine& backend_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::unordered_map<std::string, std::chrono::steady_clock::time_point> checked_at_;
    std::deque<std::string> pending_;
    bool ending_ = false;
    std::thread thread_;  // started by the first trigger
};

}  // namespace pawl::engine
