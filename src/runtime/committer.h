// Group commit: every durable write of a process goes through here. What has gathered goes out as
// one batch, as soon as a lane is free: no delay when idle, large batches under load. Where the
// store can do two commits at a time, one lane wakes those who waited while the other commits.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/fiber.h"
#include "base/one_shot_event.h"
#include "seam/engine.h"

namespace pawl::runtime {

struct WorkerMeters;

class Committer {
public:
    // Called once, on a committer's thread, when every write of the submission has its final
    // outcome (never busy). Must not block. When the committer stops first, the outcome is
    // lease_lost: whether the write happened is not known, and it will not be repeated.
    using Settled =
        std::function<void(std::span<const seam::Write>, std::span<const seam::WriteOutcome>)>;

    explicit Committer(seam::Engine& backend, WorkerMeters* meters = nullptr);
    ~Committer();  // stop() with no time left
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    // Waits while too much is pending: a database that cannot follow slows the handlers down.
    void submit(std::vector<seam::Write> writes, Settled settled);
    // The same for a thread that has nothing else to do: a single write is committed, and settled,
    // here, if nothing else is being committed.
    void submit_idle(std::vector<seam::Write> writes, Settled settled);
    // One write, whose outcome the caller waits for. A fiber leaves its thread meanwhile (park),
    // unless it must not (block).
    enum class Wait { park, block };
    [[nodiscard]] seam::WriteOutcome commit_one(seam::Write&& write, Wait wait);
    // Takes parked fibers whose outcome is known and resumes them. Set before the first of them.
    using Resume = std::function<void(std::vector<std::unique_ptr<base::Fiber>>)>;
    void set_resume(Resume resume) { resume_ = std::move(resume); }
    // This thread submits again and again, and says when it has nothing more for now: until then
    // what it submits may wait for the rest, so that it goes out as one batch.
    static void gather_here();
    void send_gathered();
    // Returns when all that was submitted before is settled, or at the deadline: false.
    bool flush(std::chrono::steady_clock::time_point deadline);
    void stop();  // idempotent; what is pending then is given up: leases end by themselves

private:
    // Lives until its last write is settled: on the heap, or on the stack of who waits for it.
    struct Submission {
        std::vector<seam::Write> writes;
        std::vector<seam::WriteOutcome> outcomes;
        std::atomic<std::size_t> open = 0;  // its writes may go out by several lanes
        Settled settled;
    };
    struct Awaited {
        seam::Write write;
        seam::WriteOutcome outcome;
<<<<<<< HEAD
        base::Fiber* fiber = nullptr;  // parked; else the thread waits at the gate
        base::OneShotEvent gate;
=======
        std::unique_ptr<base::Fiber> fiber;  // parked; else the thread waits at the gate
        base::Gate gate;
>>>>>>> fibers
        Awaited* next = nullptr;  // to be woken by who was woken: see wake()
    };
    struct Item {
        Submission* submission = nullptr;
        std::size_t index = 0;
        Awaited* awaited = nullptr;  // instead of a submission
        std::size_t bytes = 0;       // of the write; by who submits it, who has it at hand
        [[nodiscard]] seam::Write& write() const {
            return awaited != nullptr ? awaited->write : submission->writes[index];
        }
    };

    void work(const std::stop_token& stop);
    std::vector<Item> take(const std::stop_token& stop);
    std::vector<seam::WriteOutcome> commit(
        std::span<const seam::Write> writes, const std::stop_token& stop
    );
    std::vector<seam::WriteOutcome> commit_measured(
        std::span<const seam::Write> writes, seam::Attempt attempt
    );
    void distribute(std::vector<Item> items, std::vector<seam::WriteOutcome> outcomes);
    bool enqueue(std::span<const Item> items);
    void send(const Item& item);
    [[nodiscard]] std::optional<seam::WriteOutcome> commit_at_once(const seam::Write& write);
    static void settle(const Item& item, seam::WriteOutcome outcome);
    void give_up(std::span<const Item> items);
    void settle_all(
        std::span<const Item> items, std::span<seam::WriteOutcome> outcomes, std::vector<Item>& busy
    );
    static void wake(std::span<Awaited* const> settled);
    void pause(Duration time, const std::stop_token& stop);
    void pause_while_busy(
        Duration time, const std::stop_token& stop
    );  // until something else comes

    seam::Engine& backend_;
    WorkerMeters* const meters_;  // null: nobody measures
    Resume resume_;
    std::mutex mutex_;
    std::condition_variable_any work_;     // a lane may go on
    std::condition_variable_any settled_;  // there is less pending
    std::condition_variable_any pause_;    // never notified
    std::deque<Item> pending_;
    bool due_ = false;  // what is pending is not to wait for more
    std::size_t in_flight_ = 0;
    std::size_t waiting_for_room_ = 0;
    std::atomic<bool> only_busy_left_ = false;
    std::stop_source stop_;
    std::vector<std::jthread> lanes_;
};

}  // namespace pawl::runtime
