// Warns who triggers runs that nobody is there to execute. They wait; it is no error.
#pragma once

#include <chrono>
#include <mutex>
#include <pawl/workflow.h>
#include <span>
#include <string>
#include <unordered_map>

#include "seam/engine.h"

namespace pawl::engine {

class WorkerWatch {
public:
    explicit WorkerWatch(seam::Engine& backend) : backend_(backend) {}
    // Looks for a live handler of each workflow, at most every 10 s.
    void triggered(std::span<const NewRun> runs);

private:
    [[nodiscard]] bool is_time(const std::string& workflow);

    seam::Engine& backend_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::chrono::steady_clock::time_point> looked_at_;
};

}  // namespace pawl::engine
