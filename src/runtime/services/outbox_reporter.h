// Reports the results of deliveries to the store, on its own thread. Each write takes all pending
// results, so a fast sink does not wait for one commit per event, and the result of a slow one is
// reported as soon as the sink returns.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "seam/engine.h"

namespace pawl::runtime {

class OutboxReporter {
public:
    enum class Line { continues, ends };

    // `lines_ended` is called on the reporter's thread with the number of lines whose last report
    // was written (or dropped). `max_unwritten` bounds how many events a crash delivers again.
    OutboxReporter(
        std::shared_ptr<seam::Engine> backend,
        Duration lease,
        std::size_t max_unwritten,
        std::function<void(int)> lines_ended
    );
    // Writes the pending reports.
    ~OutboxReporter();
    OutboxReporter(const OutboxReporter&) = delete;
    OutboxReporter& operator=(const OutboxReporter&) = delete;

    // Waits while max_unwritten reports are unwritten.
    void add(std::vector<seam::OutboxReport> reports, Line line);

private:
    void work(const std::stop_token& stop);
    void write(const std::vector<seam::OutboxReport>& reports);

    const std::shared_ptr<seam::Engine> backend_;
    const Duration lease_;
    const std::size_t max_unwritten_;
    const std::function<void(int)> lines_ended_;

    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<seam::OutboxReport> reports_;
    int ended_ = 0;  // lines that end with reports_
    std::jthread thread_;
};

}  // namespace pawl::runtime
