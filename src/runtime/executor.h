// Runs up to `concurrency` handlers at a time and submits their reports to the committer. Each
// handler has a thread; if runs share threads, each run is a fiber that leaves its thread while it
// waits for a commit. Then a few threads suffice while steps are short; if nothing progresses for a
// few milliseconds, threads are added, up to one per run.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "runtime/call.h"
#include "runtime/committer.h"
#include "runtime/lease_table.h"
#include "runtime/message/message_runner.h"
#include "runtime/metrics/meters.h"
#include "runtime/run/run_runner.h"
#include "runtime/services/watchdog.h"
#include "runtime/task/task_runner.h"

namespace pawl::runtime {

class Executor {
public:
    using Clock = std::chrono::steady_clock;

    Executor(
        const WorkerOptions& options,
        Committer& committer,
        LeaseTable& leases,
        seam::Engine& backend,
        ServiceTimer& timer,  // for the watchdog
        WorkerMeters* meters
    );
    ~Executor();  // joins the threads: waits for handlers that still run
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // Execute calls, by their kind.
    struct Runners {
        MessageRunner messages;
        RunRunner runs;
        TaskRunner tasks;
    };
    [[nodiscard]] Runners& runners() { return runners_; }

    void push(std::vector<std::shared_ptr<Call>> work);
    // The number of calls that can be pushed without piling up: the free threads, and the calls
    // that will probably end until the next claim returns. Waits until it is above 0; returns 0
    // when stopped and at the deadline.
    int wait_for_room(const std::stop_token& stop, Clock::time_point deadline);
    // Prevents queued calls from starting while it exists.
    class StartsHeld {
    public:
        explicit StartsHeld(Executor& executor);
        ~StartsHeld();
        StartsHeld(const StartsHeld&) = delete;
        StartsHeld& operator=(const StartsHeld&) = delete;

    private:
        Executor& executor_;
    };
    // Starts the call even if starts are held, in a slot beyond `concurrency` if all are taken.
    void push_alone(std::shared_ptr<Call> call);
    // Waits until the time that `start_at` computes from the latest start among the running calls
    // whose outcome is undecided. Returns false if stopped.
    using StartAt = std::function<Clock::time_point(Clock::time_point last_start)>;
    bool wait_to_start(const StartAt& start_at, const std::stop_token& stop);
    // Returns true when the call has ended, false at the deadline.
    bool wait_until_ended(
        const Call& call, Clock::time_point deadline, const std::stop_token& stop
    );
    // Returns true when nothing is queued or running, false at the deadline.
    bool wait_until_idle(Clock::time_point deadline, const std::stop_token& stop = {});

    // Removes queued calls that were not started: all, or those that are stale by then.
    [[nodiscard]] std::vector<std::shared_ptr<Call>> take_unstarted(
        Clock::time_point stale_by = Clock::time_point::max()
    );
    // A line for each running handler: what it executes, and for how long.
    [[nodiscard]] std::vector<std::string> describe_running();
    [[nodiscard]] std::size_t running();
    // Requests the running handlers to stop; returns them.
    [[nodiscard]] std::vector<std::shared_ptr<Call>> abandon();

private:
    void work();
    void resume(std::vector<std::unique_ptr<base::Fiber>> fibers);
    void start(const std::shared_ptr<Call>& call, std::size_t slot);
    void ended(std::size_t slot);
    [[nodiscard]] std::size_t take_slot(const std::shared_ptr<Call>& call);
    [[nodiscard]] bool has_work() const;
    [[nodiscard]] bool is_idle() const;
    [[nodiscard]] Clock::time_point last_start() const;
    [[nodiscard]] std::size_t waiting_work() const;
    void wake_threads(std::size_t work);
    void wake_stall_watch();
    bool add_thread();
    void add_threads_when_stalled(const std::stop_token& stop);
    void run(const std::shared_ptr<Call>& call);
    void report(const std::shared_ptr<Call>& call, std::vector<seam::Write> writes);
    [[nodiscard]] bool is_idle_but_for_this();
    [[nodiscard]] int room();
    void forget_rate();
    void notify_waiting();

    const WorkerOptions& options_;
    Committer& committer_;
    LeaseTable& leases_;
    seam::Engine& backend_;
    WorkerMeters* const meters_;  // null unless metrics are enabled
    Watchdog watchdog_;
    Runners runners_;

    base::FiberStacks stacks_;
    const bool shared_;
    const std::size_t first_threads_;  // started with the first calls

    std::mutex mutex_;
    std::condition_variable work_;         // wakes the threads, one per call
    std::condition_variable_any changed_;  // wakes waiters for room or for the end of calls
    std::condition_variable_any stalled_;
    bool short_of_threads_ = false;  // the shortage was logged
    bool stall_watch_asleep_ = false;
    bool stopping_ = false;
    int waiting_for_room_ = 0;
    int waiting_for_end_ = 0;
    int waiting_for_a_call_ = 0;  // waiters for the end of a call
    int holds_ = 0;               // see StartsHeld
    std::deque<std::shared_ptr<Call>> queued_;
    std::deque<std::shared_ptr<Call>> alone_;         // see push_alone()
    std::deque<std::unique_ptr<base::Fiber>> ready_;  // fibers that may resume
    std::vector<std::shared_ptr<Call>> running_;      // unused places are in free_slots_
    std::vector<std::size_t> free_slots_;
    std::size_t running_count_ = 0;
    std::size_t busy_threads_ = 0;
    std::uint64_t taken_ = 0;  // calls and fibers taken by threads
    // The rate at which calls end determines how far to fetch ahead.
    std::uint64_t finished_ = 0;
    std::uint64_t finished_before_ = 0;
    Clock::time_point measured_at_ = Clock::now();
    double calls_per_second_ = 0;
    std::vector<std::thread> threads_;
    std::jthread stall_watch_;
};

}  // namespace pawl::runtime
