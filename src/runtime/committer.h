// Group commit: every durable write of a process goes through here. What is pending goes out as one
// batch as soon as a lane is free: no delay when idle, large batches under load. If the store can
// do two commits at a time, one lane wakes the waiters of its batch while the other commits.
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
    // outcome (never busy). Must not block. If the committer stops first, the outcome is
    // lease_lost: whether the write happened is not known, and it will not be repeated.
    using Callback =
        std::function<void(std::span<const seam::Write>, std::span<const seam::WriteOutcome>)>;

    explicit Committer(seam::Engine& backend, WorkerMeters* meters = nullptr);
    ~Committer();  // stop() with no time left
    Committer(const Committer&) = delete;
    Committer& operator=(const Committer&) = delete;

    // Waits while too much is pending: a slow database slows the handlers down.
    void submit(std::vector<seam::Write> writes, Callback then);
    // The same for a thread that has nothing else to do: a single write is committed on this
    // thread, which then calls `then`, if nothing else is being committed.
    void submit_idle(std::vector<seam::Write> writes, Callback then);
    // Waits for the outcome of one write. A fiber leaves its thread meanwhile (park), unless it
    // must not (block).
    enum class Wait { park, block };
    [[nodiscard]] seam::WriteOutcome commit_one(const seam::Write& write, Wait wait);
    // Takes parked fibers whose outcome is known and resumes them. Set before the first of them.
    using Resume = std::function<void(std::vector<std::unique_ptr<base::Fiber>>)>;
    void set_resume(Resume resume) { resume_ = std::move(resume); }
    // Returns when all that was submitted before is committed, or at the deadline: false.
    bool flush(std::chrono::steady_clock::time_point deadline);
    void stop();  // idempotent; gives up what is pending: leases end by themselves

private:
    // The writes of one caller, shared by the items that refer to it. Those of submit() are stored
    // here; a waiter keeps its own, and waits until they have their outcome.
    struct Submission {
        std::vector<seam::Write> stored;
        std::span<const seam::Write> writes;
        std::vector<seam::WriteOutcome> outcomes;
        std::atomic<std::size_t> open = 0;   // its writes may go out by several lanes
        Callback then;                       // none for a waiter
        std::unique_ptr<base::Fiber> fiber;  // the waiter is a parked fiber,
        base::OneShotEvent committed;        // or a thread that waits for this
        std::shared_ptr<Submission> next;    // the waiter that this one wakes: see wake()
        bool has_waiter = false;
    };
    struct Item {
        std::shared_ptr<Submission> submission;
        std::size_t index = 0;
        std::size_t bytes = 0;  // of the write
        [[nodiscard]] const seam::Write& write() const { return submission->writes[index]; }
    };
    using Items = std::vector<Item>;

    void work(const std::stop_token& stop);
    Items take(const std::stop_token& stop);
    std::vector<seam::WriteOutcome> commit(seam::Writes writes, const std::stop_token& stop);
    std::vector<seam::WriteOutcome> commit_measured(seam::Writes writes, seam::Attempt attempt);
    [[nodiscard]] std::optional<seam::WriteOutcome> commit_here(const seam::Write& write);
    [[nodiscard]] static Items items_of(const std::shared_ptr<Submission>& submission);
    void send(Items items);
    [[nodiscard]] bool enqueue(Items& items);
    void give_up(Items items);
    void distribute(Items items, std::vector<seam::WriteOutcome> outcomes);
    // Returns the items that are busy.
    Items deliver(Items items, std::span<seam::WriteOutcome> outcomes);
    static void wake(std::span<const std::shared_ptr<Submission>> waiters);
    void pause(Duration time, const std::stop_token& stop);
    // Ends early if something else arrives.
    void pause_while_busy(Duration time, const std::stop_token& stop);

    seam::Engine& backend_;
    WorkerMeters* const meters_;  // null unless the worker is measured
    Resume resume_;
    std::mutex mutex_;
    std::condition_variable_any work_;   // something is pending
    std::condition_variable_any room_;   // there is less pending
    std::condition_variable_any pause_;  // notified only to end a pause while rows are busy
    std::deque<Item> pending_;
    std::size_t in_flight_ = 0;
    std::size_t waiting_for_room_ = 0;
    std::atomic<bool> only_busy_left_ = false;
    std::stop_source stop_;
    std::vector<std::jthread> lanes_;
};

}  // namespace pawl::runtime
