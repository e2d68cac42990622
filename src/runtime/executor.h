// Runs up to `concurrency` handlers at a time and hands their reports to the committer. Each has a
// thread; or, where runs share threads, each run is a fiber that leaves its thread while it waits
// for a commit. Then few threads do as long as bodies are short: when nothing has moved for a few
// milliseconds there are more, up to one per run.
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
        WorkerMeters* meters
    );
    ~Executor();  // joins the threads: waits for handlers that still run
    Executor(const Executor&) = delete;
    Executor& operator=(const Executor&) = delete;

    // What executes calls, by their kind.
    struct Runners {
        MessageRunner messages;
        RunRunner runs;
        TaskRunner tasks;
    };
    [[nodiscard]] Runners& runners() { return runners_; }

    void push(std::vector<std::shared_ptr<Call>> work);
    // How many calls may be pushed without piling up: the free threads, and as much as they will
    // have finished by the time the next claim is back. Waits until there is room; 0 when stopped,
    // and at the deadline.
    int wait_for_room(const std::stop_token& stop, Clock::time_point deadline);
    // While it lives, nothing that was pushed is started.
    class StartsHeld {
    public:
        explicit StartsHeld(Executor& executor);
        ~StartsHeld();
        StartsHeld(const StartsHeld&) = delete;
        StartsHeld& operator=(const StartsHeld&) = delete;

    private:
        Executor& executor_;
    };
    // Starts the call although starts are held, in a slot beyond `concurrency` if all are taken.
    void push_alone(std::shared_ptr<Call> call);
    // Waits until the time that `start_at` gives for the last start of a call that runs and whose
    // outcome is not decided yet. False: stopped.
    using StartAt = std::function<Clock::time_point(Clock::time_point last_start)>;
    bool wait_to_start(const StartAt& start_at, const std::stop_token& stop);
    // Returns when the call has ended, or at the deadline: false.
    bool wait_until_ended(
        const Call& call, Clock::time_point deadline, const std::stop_token& stop
    );
    // Returns when nothing is queued or running, or at the deadline: false.
    bool wait_until_idle(Clock::time_point deadline, const std::stop_token& stop = {});

    // Takes back what was not started: all, or what is stale by then.
    [[nodiscard]] std::vector<std::shared_ptr<Call>> take_unstarted(
        Clock::time_point stale_by = Clock::time_point::max()
    );
    // A line for each running handler: what it executes, and since when.
    [[nodiscard]] std::vector<std::string> describe_running();
    [[nodiscard]] std::size_t running();
    // Asks the running handlers to stop; returns them.
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
    void call_threads(std::size_t work);
    void look_for_stall();
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
    WorkerMeters* const meters_;  // null: nobody measures
    Watchdog watchdog_;
    Runners runners_;

    base::FiberStacks stacks_;
    const bool shared_;
    const std::size_t first_threads_;  // are there from the first call on

    std::mutex mutex_;
    std::condition_variable work_;         // of the threads; one is woken per call
    std::condition_variable_any changed_;  // of those who wait for room or for the end
    std::condition_variable_any stalled_;
    bool short_of_threads_ = false;  // that has been told
    bool stall_watch_asleep_ = false;
    bool stopping_ = false;
    int waiting_for_room_ = 0;
    int waiting_for_end_ = 0;
    int waiting_for_a_call_ = 0;  // to end
    int holds_ = 0;               // see StartsHeld
    std::deque<std::shared_ptr<Call>> queued_;
    std::deque<std::shared_ptr<Call>> alone_;         // see push_alone()
    std::deque<std::unique_ptr<base::Fiber>> ready_;  // fibers that may resume
    std::vector<std::shared_ptr<Call>> running_;      // empty places are in free_slots_
    std::vector<std::size_t> free_slots_;
    std::size_t running_count_ = 0;
    std::size_t busy_threads_ = 0;
    std::uint64_t taken_ = 0;  // calls and fibers that threads have taken up
    // The rate at which calls finish decides how far to fetch ahead.
    std::uint64_t finished_ = 0;
    std::uint64_t finished_before_ = 0;
    Clock::time_point measured_at_ = Clock::now();
    double calls_per_second_ = 0;
    std::vector<std::thread> threads_;
    std::jthread stall_watch_;
};

}  // namespace pawl::runtime
