// Runs handlers on up to `concurrency` threads and hands their reports to the committer.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/committer.h"
#include "runtime/executing.h"
#include "runtime/lease_table.h"
#include "runtime/run_runner.h"
#include "runtime/watchdog.h"

namespace pawl::runtime {

class Executor {
public:
    using Clock = std::chrono::steady_clock;

    Executor(
        const WorkerOptions& options,
        Committer& committer,
        LeaseTable& leases,
        store::Backend& backend
    );
    ~Executor();  // joins the threads: waits for handlers that still run
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    void push(std::vector<std::shared_ptr<Executing>> work);
    // How many calls may be pushed without piling up: the free threads, and as much as they will
    // have finished by the time the next claim is back. Waits until there is room; 0 when stopped.
    int wait_for_room(const std::stop_token& stop);
    // Returns when nothing is queued or running, or at the deadline: false.
    bool wait_until_idle(Clock::time_point deadline, const std::stop_token& stop = {});

    // Takes back what was not started: all, or what was claimed before that time.
    [[nodiscard]] std::vector<std::shared_ptr<Executing>> take_unstarted(
        Clock::time_point claimed_before = Clock::time_point::max()
    );
    // Asks the running handlers to stop; returns them.
    [[nodiscard]] std::vector<std::shared_ptr<Executing>> abandon();

private:
    void work(std::size_t slot);
    void run(const std::shared_ptr<Executing>& executing);
    void settle(const std::shared_ptr<Executing>& executing, std::vector<store::Write> writes);
    std::vector<store::Write> report(Executing& executing);
    std::vector<store::Write> failure(const Executing& executing, const std::exception_ptr& thrown);
    [[nodiscard]] Duration backoff(const Message& message) const;
    [[nodiscard]] int room();
    void tell_waiting();

    const WorkerOptions& options_;
    Committer& committer_;
    LeaseTable& leases_;
    store::Backend& backend_;
    Watchdog watchdog_;
    RunRunner runner_;

    std::mutex mutex_;
    std::condition_variable work_;         // of the threads; one is woken per call
    std::condition_variable_any changed_;  // of those who wait for room or for the end
    bool stopping_ = false;
    int waiting_for_room_ = 0;
    int waiting_for_end_ = 0;
    std::deque<std::shared_ptr<Executing>> queued_;
    std::vector<std::shared_ptr<Executing>> running_;  // by thread; empty where it is idle
    std::size_t running_count_ = 0;
    // The rate at which calls finish decides how far to fetch ahead.
    std::uint64_t finished_ = 0;
    std::uint64_t finished_before_ = 0;
    Clock::time_point measured_at_ = Clock::now();
    double calls_per_second_ = 0;
    std::vector<std::thread> threads_;
};

}  // namespace pawl::runtime
